/* SPDX-License-Identifier: Apache-2.0 */
#include "monitorfixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fakesysfs.h"

struct hm_monitor_meter meter;
struct hm_samples samples;
struct hm_metered *const metered = &samples.metered;
static uint64_t now_ns;

int monitor_set_up(void **state)
{
    samples =
        (struct hm_samples){.n_tiers = 2, .tier_kind = {HM_KIND_DRAM, HM_KIND_PMEM}, .tier_name = {"dram", "pmem"}};
    now_ns = 50 * SECOND;
    return fake_sysfs_make(state);
}

int monitor_tear_down(void **state)
{
    hm_monitor_meter_close(&meter);
    return fake_sysfs_drop(state);
}

void monitor_open(const char *group)
{
    static const struct hm_monitor_programs none = {0};
    hm_monitor_meter_open(&meter, fake.setup.sysfs, group, &none, &samples);
}

void monitor_read_after(uint64_t ns)
{
    now_ns += ns;
    hm_monitor_meter_read(&meter, &samples, now_ns);
    assert_null(hm_metered_bad(metered));
}
