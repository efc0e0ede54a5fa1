/* SPDX-License-Identifier: Apache-2.0 */
#include "power.h"

/* The shortest time over which power is computed. RAPL's counters are updated each millisecond, so over a time that is
 * not much longer, power would be mostly jitter. */
#define POWER_NS UINT64_C(100000000)

/* Take the power of an interval. The peak is raised to the mean where needed: the mean also counts energy after the
 * last interval. `watts_s`: seconds since power->joules was read; 0: too few for a figure. */
static void take_peak(struct hm_power *power, double joules, double mean, double watts_s)
{
    if (power->peak.is_known && mean > power->peak.amount)
        power->peak.amount = mean;
    if (watts_s <= 0)
        return;
    double watts = (joules - power->joules) / watts_s;
    if (watts >= power->peak.amount)
        power->peak = (struct hm_metered_figure){watts, 1};
    power->joules = joules;
}

void hm_powers_take(struct hm_powers *powers, struct hm_metered *metered, uint64_t mono_ns)
{
    const struct hm_metered_figure *package = &metered->energy[HM_DOMAIN_PACKAGE],
                                   *memory = &metered->energy[HM_DOMAIN_MEMORY];
    const bool is_known[HM_POWERS] = {package->is_known, package->is_known && memory->is_known};
    const double joules[HM_POWERS] = {package->amount, package->amount + memory->amount};
    bool is_due = mono_ns - powers->mono_ns >= POWER_NS;
    for (int i = 0; i < HM_POWERS; i++) {
        struct hm_power *power = &powers->power[i];
        power->is_lost = power->is_lost || !is_known[i];
        if (power->is_lost)
            power->peak = (struct hm_metered_figure){0};
        else
            take_peak(power, joules[i], joules[i] / hm_metered_seconds(metered),
                      is_due ? (double)(mono_ns - powers->mono_ns) / 1e9 : 0);
    }
    metered->peak_w = powers->power[is_known[HM_POWER_BOTH] ? HM_POWER_BOTH : HM_POWER_PACKAGE].peak;
    if (is_due)
        powers->mono_ns = mono_ns;
}
