/* SPDX-License-Identifier: Apache-2.0 */
#include "meter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "meter/papi/process.h"
#include "texts.h"

/* A program that starts later than the others by at most this, or by at most a hundredth of the whole time, counts as
 * if it had started with them. */
#define LATE_NS UINT64_C(1000000000)

#define LAST_MS 1500 /* time for the programs' last answers; the end of the job waits for it */

/* Take the tiers' names and kinds from the samples file. Flows (what a source counts of one kind:
 * meter/sources/flow.h) need nothing else of a tier. */
static void take_tiers(struct hm_monitor_meter *meter, const struct hm_samples *samples)
{
    meter->tiers.n_tiers = (int)samples->n_tiers;
    for (uint32_t t = 0; t < samples->n_tiers; t++) {
        memcpy(meter->tiers.tier[t].name, samples->tier_name[t], HM_NAME);
        meter->tiers.tier[t].kind = (enum hm_kind)samples->tier_kind[t];
    }
}

void hm_monitor_meter_open(struct hm_monitor_meter *meter, int sysfs, const char *group,
                           const struct hm_monitor_programs *programs, struct hm_samples *samples)
{
    struct hm_metered *metered = &samples->metered;
    struct hm_counters_setup setup = {.sysfs = sysfs,
                                      .resctrl = -1,
                                      .resctrl_why = ENOENT,
                                      .papi = programs->papi,
                                      .slurm = programs->slurm,
                                      .not_asked = "meter_programs in hybridmem.conf does not name it",
                                      .later = &meter->tiers};
    *meter = (struct hm_monitor_meter){.group = -1};
    if (metered->n_readings > 0) {
        *metered = (struct hm_metered){.n_readings = metered->n_readings};
        snprintf(metered->energy_source, sizeof(metered->energy_source),
                 "the monitor was interrupted: what was counted in between is not known");
        memcpy(metered->traffic_source, metered->energy_source, sizeof(metered->traffic_source));
        memcpy(metered->group_source, metered->energy_source, group ? sizeof(metered->group_source) : 0);
        return;
    }
    if (group) {
        meter->has_group = setup.is_new_group = true;
        /* Stays open, as a counter that is gone may come back. */
        meter->group = setup.resctrl = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        setup.resctrl_why = errno;
    }
    meter->is_slurm_asked = programs->slurm != NULL;
    take_tiers(meter, samples);
    meter->n_tried = hm_counters_find(&setup, &meter->gauges, meter->tried);
    meter->is_open = true;
}

void hm_monitor_meter_close(struct hm_monitor_meter *meter)
{
    hm_gauges_close(&meter->gauges, 0);
    if (meter->is_open && meter->group >= 0)
        close(meter->group);
    meter->is_open = false;
}

/* Add a flow to a figure. An unknown flow makes the figure unknown. */
static void add(struct hm_metered_figure *figure, const struct hm_flow *flow, bool is_first)
{
    figure->is_known = (is_first || figure->is_known) && hm_flow_is_known(flow);
    figure->amount = figure->is_known ? (is_first ? 0 : figure->amount) + flow->total.amount : 0;
}

static void take_energy(struct hm_metered *metered, const struct hm_flow *flow, int n)
{
    static const enum hm_quantity quantities[HM_DOMAINS] = {[HM_DOMAIN_PACKAGE] = HM_PACKAGE_ENERGY,
                                                            [HM_DOMAIN_MEMORY] = HM_MEMORY_ENERGY,
                                                            [HM_DOMAIN_PLATFORM] = HM_PLATFORM_ENERGY};
    for (int d = 0; d < HM_DOMAINS; d++) {
        bool is_first = true;
        for (int i = 0; i < n; i++)
            if (flow[i].quantity == quantities[d]) {
                add(&metered->energy[d], &flow[i], is_first);
                is_first = false;
            }
    }
}

/* The only tier of this kind. Returns -1 where there is none, where there are several, which counters cannot tell
 * apart, or where the kind is unknown. */
static int tier_of_kind(const struct hm_samples *samples, enum hm_kind kind)
{
    int found = -1;
    for (uint32_t t = 0; t < samples->n_tiers; t++)
        if (samples->tier_kind[t] == (uint32_t)kind) {
            if (found >= 0)
                return -1;
            found = (int)t;
        }
    return kind == HM_KIND_UNKNOWN ? -1 : found;
}

static void take_traffic(struct hm_samples *samples, struct hm_flow *flow, int n)
{
    for (int i = 0; i < n; i++) {
        int tier = tier_of_kind(samples, flow[i].kind);
        if (flow[i].quantity != HM_READ_BYTES && flow[i].quantity != HM_WRITE_BYTES)
            continue;
        if (tier < 0 && hm_flow_is_known(&flow[i])) {
            hm_fail(&flow[i].reason, 0, "%s has counters, but no tier, or more than one, is of this kind",
                    hm_kind_name(flow[i].kind));
            flow[i].source = NULL;
        }
        if (tier >= 0)
            add(&samples->metered
                     .traffic[tier][flow[i].quantity == HM_READ_BYTES ? HM_DIRECTION_READ : HM_DIRECTION_WRITE],
                &flow[i], true);
    }
}

/* The group's reads and writes are of all tiers together, so they belong to no single tier. */
static void take_group(struct hm_metered *metered, const struct hm_flow *flow, int n)
{
    for (int i = 0; i < n; i++)
        if (flow[i].quantity == HM_TOTAL_BYTES || flow[i].quantity == HM_LOCAL_BYTES)
            add(&metered->group[flow[i].quantity == HM_TOTAL_BYTES ? HM_GROUP_TOTAL : HM_GROUP_LOCAL], &flow[i], true);
}

/* Have the counters of this program been added? If not, it does not run, has not described them yet, or waits until a
 * better program has described its own. */
static bool is_joined(const struct hm_monitor_meter *meter, int program)
{
    return meter->gauges.reader[program] && meter->tried[meter->gauges.reader_source[program]].n > 0;
}

/* The program that counts this flow; -1: a counter of the node itself. */
static int program_of(const struct hm_monitor_meter *meter, const struct hm_flow *flow)
{
    for (int i = 0; i < HM_N_PROGRAMS; i++)
        if (meter->gauges.reader[i] && flow->source == meter->tried[meter->gauges.reader_source[i]].source->name)
            return i;
    return -1;
}

/* Has the program given no reading this time? */
static bool is_missed(const struct hm_monitor_meter *meter, int program)
{
    uint64_t value;
    return hm_papi_reader_value(meter->gauges.reader[program], 0, &value) == ENODEV;
}

/* The totals of a program's counters begin with its first reading after it joined. */
static void begin_joined(struct hm_monitor_meter *meter, uint64_t mono_ns)
{
    for (int i = 0; i < HM_N_PROGRAMS; i++) {
        if (!is_joined(meter, i) || meter->begun_ns[i] > 0 || is_missed(meter, i))
            continue;
        const struct hm_counters_tried *tried = &meter->tried[meter->gauges.reader_source[i]];
        for (size_t g = tried->first; g < tried->first + tried->n; g++)
            meter->gauges.gauge[g].total = (struct hm_total){0};
        meter->begun_ns[i] = mono_ns;
    }
}

/* All figures are for the same time. So a flow that began much later than the others becomes unknown. */
static void drop_late(const struct hm_monitor_meter *meter, const struct hm_metered *metered, uint64_t mono_ns,
                      struct hm_flow *flow)
{
    int program = program_of(meter, flow);
    if (program < 0 || !hm_flow_is_known(flow))
        return;
    uint64_t late_ns = meter->begun_ns[program] - metered->first_mono_ns;
    if (late_ns <= LATE_NS || late_ns <= (mono_ns - metered->first_mono_ns) / 100)
        return;
    flow->total = (struct hm_total){0};
    hm_fail(&flow->reason, 0, "%s was asked only %.1f s after the first reading", flow->source, (double)late_ns / 1e9);
}

/* Can peak power be known? It cannot where a helper program counts the energy of packages or of memory: the program
 * reads its counters at a moment of its own, so energy divided by the time between two readings may not be the power of
 * that time. */
static bool has_peak(const struct hm_monitor_meter *meter, int n)
{
    for (int i = 0; i < n; i++)
        if ((meter->flow[i].quantity == HM_PACKAGE_ENERGY || meter->flow[i].quantity == HM_MEMORY_ENERGY) &&
            hm_flow_is_known(&meter->flow[i]) && program_of(meter, &meter->flow[i]) >= 0)
            return false;
    return true;
}

static void read_all(struct hm_monitor_meter *meter, struct hm_samples *samples, uint64_t mono_ns)
{
    struct hm_metered *metered = &samples->metered;
    meter->is_asked = false;
    hm_gauges_take(&meter->gauges, mono_ns);
    if (metered->n_readings == 0) {
        hm_gauges_clear(&meter->gauges);
        metered->first_mono_ns = meter->powers.mono_ns = mono_ns;
    }
    begin_joined(meter, mono_ns);
    int n = hm_flows_sum(&meter->gauges, meter->tried, meter->n_tried, &meter->tiers, meter->flow);
    for (int i = 0; i < n; i++)
        drop_late(meter, metered, mono_ns, &meter->flow[i]);
    take_energy(metered, meter->flow, n);
    take_traffic(samples, meter->flow, n);
    take_group(metered, meter->flow, n);
    hm_monitor_sources(meter, n, metered);
    metered->last_mono_ns = mono_ns;
    metered->n_readings++;
    if (metered->n_readings > 1)
        hm_powers_take(&meter->powers, metered, mono_ns);
    if (!has_peak(meter, n))
        metered->peak_w = (struct hm_metered_figure){0};
}

static bool is_awaited(const struct hm_monitor_meter *meter, int program)
{
    return meter->gauges.reader[program] && hm_papi_reader_is_awaited(meter->gauges.reader[program]);
}

/* Is the answer of a program that has joined still awaited? */
static bool is_answer_awaited(const struct hm_monitor_meter *meter)
{
    for (int i = 0; i < HM_N_PROGRAMS; i++)
        if (is_joined(meter, i) && is_awaited(meter, i))
            return true;
    return false;
}

void hm_monitor_meter_read(struct hm_monitor_meter *meter, struct hm_samples *samples, uint64_t mono_ns)
{
    if (!meter->is_open || meter->is_asked)
        return;
    hm_papi_process_reap();
    for (int i = 0; i < HM_N_PROGRAMS; i++)
        if (is_joined(meter, i) && !is_awaited(meter, i))
            hm_papi_reader_ask(meter->gauges.reader[i]);
    meter->is_asked = true;
    if (!is_answer_awaited(meter))
        read_all(meter, samples, mono_ns);
}

int hm_monitor_meter_poll(const struct hm_monitor_meter *meter, struct pollfd events[HM_N_PROGRAMS])
{
    int least = -1, left_ms;
    for (int i = 0; i < HM_N_PROGRAMS; i++) {
        events[i] = (struct pollfd){.fd = -1};
        if (!is_awaited(meter, i))
            continue;
        events[i] = (struct pollfd){.fd = hm_papi_reader_poll(meter->gauges.reader[i], &left_ms), .events = POLLIN};
        least = least < 0 || left_ms < least ? left_ms : least;
    }
    return least;
}

/* Add the counters of programs that have described them, the better program first. Returns whether there are new
 * counters. */
static bool join(struct hm_monitor_meter *meter)
{
    bool is_more = false;
    for (int i = 0; i < HM_N_PROGRAMS; i++) {
        if (!meter->gauges.reader[i] || is_joined(meter, i))
            continue;
        if (is_awaited(meter, i))
            break;
        is_more = hm_counters_join(&meter->gauges, meter->tried, (enum hm_papi_program)i) > 0 || is_more;
    }
    return is_more;
}

void hm_monitor_meter_hear(struct hm_monitor_meter *meter, struct hm_samples *samples, uint64_t mono_ns)
{
    for (int i = 0; i < HM_N_PROGRAMS; i++)
        if (is_awaited(meter, i))
            hm_papi_reader_take(meter->gauges.reader[i], 0);
    if (meter->is_asked && !is_answer_awaited(meter))
        read_all(meter, samples, mono_ns);
    bool has_counters = meter->gauges.n > 0;
    if (meter->is_over || !join(meter))
        return;
    if (!has_counters) {
        samples->metered = (struct hm_metered){0};
        meter->powers = (struct hm_powers){0};
    }
    meter->is_asked = false;
    hm_monitor_meter_read(meter, samples, mono_ns);
}

void hm_monitor_meter_finish(struct hm_monitor_meter *meter)
{
    meter->is_over = true;
    for (int i = 0; i < HM_N_PROGRAMS; i++)
        if (is_joined(meter, i))
            hm_papi_reader_hurry(meter->gauges.reader[i], LAST_MS);
    for (int i = 0; i < HM_N_PROGRAMS; i++)
        if (is_joined(meter, i))
            hm_papi_reader_finish(meter->gauges.reader[i]);
}
