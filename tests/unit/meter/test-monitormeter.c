/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests what a job's monitor makes of the node's counters: sums from its first reading on, the peak power, and reasons.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fakesysfs.h"
#include "meter/monitor/meter.h"
#include "unit/lib/scratch.h"

#define SECOND UINT64_C(1000000000)
#define PACKAGE(n) "class/powercap/intel-rapl:" #n "/energy_uj"
#define DRAM(n) "class/powercap/intel-rapl:" #n "/intel-rapl:" #n ":"

static struct hm_monitor_meter meter;
static struct hm_samples samples;
static struct hm_metered *const metered = &samples.metered;
static uint64_t now_ns;
static const char *group; /* the job's resctrl group */
static struct hm_monitor_programs programs;

static int set_up(void **state)
{
    samples =
        (struct hm_samples){.n_tiers = 2, .tier_kind = {HM_KIND_DRAM, HM_KIND_PMEM}, .tier_name = {"dram", "pmem"}};
    now_ns = 50 * SECOND;
    group = NULL;
    programs = (struct hm_monitor_programs){0};
    return fake_sysfs_make(state);
}

static int tear_down(void **state)
{
    hm_monitor_meter_close(&meter);
    return fake_sysfs_drop(state);
}

static void open_meter(void)
{
    hm_monitor_meter_open(&meter, fake.setup.sysfs, group, &programs, &samples);
}

static void read_after(uint64_t ns)
{
    now_ns += ns;
    hm_monitor_meter_read(&meter, &samples, now_ns);
    assert_null(hm_metered_bad(metered));
}

static void assert_joules(enum hm_domain domain, double joules)
{
    assert_int_equal(metered->energy[domain].is_known, 1);
    assert_true(fabs(metered->energy[domain].amount - joules) < 1e-9);
}

static void test_sums_over_sockets_and_readings(void **state)
{
    (void)state;
    fake_sysfs_add_powercap("262143328000");
    open_meter();
    read_after(0);
    fake_sysfs_write(PACKAGE(0), "149");          /* 851 counts to the wrap, and 149 after it: 1 mJ */
    fake_sysfs_write(PACKAGE(1), "262143328500"); /* 0.5 mJ */
    fake_sysfs_write(DRAM(1) "0/energy_uj", "262143328250");
    read_after(2 * SECOND);
    assert_joules(HM_DOMAIN_PACKAGE, 0.0015);
    assert_joules(HM_DOMAIN_MEMORY, 0.00025);
    assert_joules(HM_DOMAIN_PLATFORM, 0);
    fake_sysfs_write(PACKAGE(0), "300000149"); /* 300 J in 3 s */
    read_after(3 * SECOND);
    assert_joules(HM_DOMAIN_PACKAGE, 300.0015);
    read_after(SECOND); /* nothing was counted: the peak stays */
    assert_joules(HM_DOMAIN_PACKAGE, 300.0015);
    assert_int_equal(metered->peak_w.is_known, 1);
    assert_true(fabs(metered->peak_w.amount - 100) < 1e-6);
    assert_true(fabs(hm_metered_seconds(metered) - 6) < 1e-9);
    assert_int_equal(metered->n_readings, 4);
    assert_string_equal(metered->energy_source, "powercap");
}

/* Readings 10 ms apart give no power, as it would be mostly RAPL's jitter. */
static void test_power_wants_time(void **state)
{
    (void)state;
    fake_sysfs_add_powercap("0");
    open_meter();
    read_after(0);
    fake_sysfs_write(PACKAGE(0), "5000000");
    read_after(SECOND / 100);
    assert_joules(HM_DOMAIN_PACKAGE, 5);
    assert_int_equal(metered->peak_w.is_known, 0);
    read_after(SECOND - SECOND / 100);
    assert_true(metered->peak_w.is_known && fabs(metered->peak_w.amount - 5) < 1e-6);
}

/* The last reading comes 50 ms after the one before, and most energy was counted in that time. */
static void test_the_largest_power_is_not_below_the_mean(void **state)
{
    (void)state;
    fake_sysfs_add_powercap("0");
    open_meter();
    read_after(0);
    fake_sysfs_write(PACKAGE(0), "1000000");
    read_after(SECOND);
    assert_true(fabs(metered->peak_w.amount - 1) < 1e-6);
    fake_sysfs_write(PACKAGE(0), "10500000");
    read_after(SECOND / 20);
    assert_true(fabs(metered->peak_w.amount - 10) < 1e-6);
}

static void test_a_machine_without_counters(void **state)
{
    (void)state;
    open_meter();
    read_after(0);
    read_after(SECOND);
    assert_int_equal(metered->n_readings, 2);
    for (int d = 0; d < HM_DOMAINS; d++)
        assert_int_equal(metered->energy[d].is_known, 0);
    assert_non_null(strstr(metered->energy_source, "powercap: the kernel shows no RAPL zone"));
    assert_non_null(strstr(metered->traffic_source, "perf-imc: the kernel has no PMU"));
    assert_in_range(meter.n_tried, 4, HM_METERS);
    for (int i = 0; i < meter.n_tried; i++) { /* each source's whole reason is in the text */
        if (meter.tried[i].source->gives & HM_GIVES(HM_PACKAGE_ENERGY))
            assert_non_null(strstr(metered->energy_source, meter.tried[i].reason));
        if (meter.tried[i].source->gives & HM_GIVES(HM_READ_BYTES))
            assert_non_null(strstr(metered->traffic_source, meter.tried[i].reason));
    }
}

static void test_read_once(void **state)
{
    (void)state;
    fake_sysfs_add_powercap("7");
    open_meter();
    read_after(0);
    assert_int_equal(metered->energy[HM_DOMAIN_PACKAGE].is_known, 0);
    assert_true(metered->energy_source[0] != '\0');
}

/* After a counter has vanished, its domain's energy is unknown. The other domains go on. */
static void test_a_counter_that_vanishes(void **state)
{
    (void)state;
    fake_sysfs_add_powercap("0");
    open_meter();
    read_after(0);
    read_after(SECOND);
    fake_sysfs_write(DRAM(0) "1/energy_uj", "Error");
    read_after(SECOND);
    fake_sysfs_write(DRAM(0) "1/energy_uj", "1000000");
    fake_sysfs_write(PACKAGE(0), "1000000");
    read_after(SECOND);
    assert_joules(HM_DOMAIN_PACKAGE, 1);
    assert_int_equal(metered->energy[HM_DOMAIN_MEMORY].is_known, 0);
    assert_true(metered->energy[HM_DOMAIN_MEMORY].amount == 0);
    assert_non_null(strstr(metered->energy_source, "powercap; memory-0: class/powercap/intel-rapl:0/intel-rapl:0:1"));
    assert_int_equal(metered->peak_w.is_known, 1); /* the peak of packages alone */
    assert_true(fabs(metered->peak_w.amount - 1) < 1e-6);
}

/* The peak power was before a domain was lost. Then the peak is that of the remaining domain, since the beginning and
 * not only since the loss. */
static void test_a_lost_domain_leaves_the_others_peak(void **state)
{
    (void)state;
    fake_sysfs_add_powercap("0");
    open_meter();
    read_after(0);
    fake_sysfs_write(PACKAGE(0), "100000000");
    fake_sysfs_write(DRAM(0) "1/energy_uj", "20000000");
    read_after(SECOND);
    assert_true(fabs(metered->peak_w.amount - 120) < 1e-6);
    fake_sysfs_write(PACKAGE(0), "130000000");
    read_after(SECOND);
    assert_true(fabs(metered->peak_w.amount - 120) < 1e-6);
    fake_sysfs_write(DRAM(0) "1/energy_uj", "Error");
    fake_sysfs_write(PACKAGE(0), "131000000");
    for (int i = 0; i < 2; i++) {
        read_after(SECOND);
        assert_int_equal(metered->peak_w.is_known, 1);
        assert_true(fabs(metered->peak_w.amount - 100) < 1e-6);
    }
    /* Without the packages' energy there is no power, even if their counter comes back. */
    fake_sysfs_write(PACKAGE(0), "Error");
    read_after(SECOND);
    fake_sysfs_write(PACKAGE(0), "900000000");
    for (int i = 0; i < 2; i++) {
        read_after(SECOND);
        assert_int_equal(metered->peak_w.is_known, 0);
        assert_true(metered->peak_w.amount == 0);
    }
}

static void test_after_another_monitor(void **state)
{
    (void)state;
    fake_sysfs_add_powercap("0");
    open_meter();
    read_after(0);
    read_after(SECOND);
    hm_monitor_meter_close(&meter);
    open_meter();
    fake_sysfs_write(PACKAGE(0), "1000000");
    read_after(SECOND);
    assert_int_equal(metered->energy[HM_DOMAIN_PACKAGE].is_known, 0);
    assert_non_null(strstr(metered->energy_source, "interrupted"));
    assert_string_equal(metered->energy_source, metered->traffic_source);
}

static void add_traffic(void)
{
    fake_sysfs_add_event("uncore_imc_0", "40", "cas_count_read", "event=0x04,umask=0x03");
    fake_sysfs_add_event("uncore_imc_0", "40", "cas_count_write", "event=0x04,umask=0x0c");
    fake.counts[0] = 100;
    fake.counts[1] = 100 + 1000;
    fake.n_counts = 2;
}

static void test_traffic_by_tier(void **state)
{
    (void)state;
    add_traffic();
    open_meter();
    read_after(0);
    read_after(SECOND);
    for (int d = 0; d < HM_DIRECTIONS; d++) {
        assert_int_equal(metered->traffic[0][d].is_known, 1);
        assert_true(metered->traffic[0][d].amount == 2 * 1000 * 64); /* one CPU of each socket */
        assert_int_equal(metered->traffic[1][d].is_known, 0);
    }
    assert_non_null(strstr(metered->traffic_source, "perf-imc; pmem read: perf-imc: has no such counter here"));
}

/* Counters only tell kinds of memory: with two tiers of a kind, the tier is not known. */
static void test_two_tiers_of_a_kind(void **state)
{
    (void)state;
    samples.tier_kind[1] = HM_KIND_DRAM;
    add_traffic();
    open_meter();
    read_after(0);
    read_after(SECOND);
    for (int t = 0; t < 2; t++)
        assert_int_equal(metered->traffic[t][HM_DIRECTION_READ].is_known, 0);
    assert_non_null(
        strstr(metered->traffic_source, "dram has counters, but no tier, or more than one, is of this kind"));
}

#define MBM(cache, file) "fs/resctrl/mon_groups/hybridmem.7.0/mon_data/mon_L3_0" #cache "/mbm_" #file "_bytes"

/* Add a resctrl group with two caches. */
static void add_group(void)
{
    fake_sysfs_write(MBM(0, total), "4096");
    fake_sysfs_write(MBM(1, total), "0");
    fake_sysfs_write(MBM(0, local), "4096");
    fake_sysfs_write(MBM(1, local), "0");
    fake_sysfs_write("fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "999");
    group = scratch_path("sys/fs/resctrl/mon_groups/hybridmem.7.0");
}

static void assert_group(enum hm_group_bytes kind, double bytes)
{
    assert_int_equal(metered->group[kind].is_known, 1);
    assert_true(metered->group[kind].amount == bytes);
}

/* What the group counted before the first reading is the job's, too, as the group was made for it. It is not added to
 * any tier. */
static void test_the_jobs_own_group(void **state)
{
    (void)state;
    add_group();
    open_meter();
    read_after(0);
    fake_sysfs_write(MBM(0, total), "5096");
    fake_sysfs_write(MBM(1, total), "300");
    fake_sysfs_write(MBM(0, local), "4196");
    read_after(SECOND);
    fake_sysfs_write(MBM(1, total), "301");
    read_after(SECOND);
    assert_group(HM_GROUP_TOTAL, 5397);
    assert_group(HM_GROUP_LOCAL, 4196);
    assert_string_equal(metered->group_source, "resctrl");
    for (int t = 0; t < HM_MAX_TIERS; t++)
        for (int d = 0; d < HM_DIRECTIONS; d++)
            assert_int_equal(metered->traffic[t][d].is_known, 0);
    assert_null(strstr(metered->traffic_source, "resctrl"));
}

static void test_a_group_that_loses_its_counters(void **state)
{
    (void)state;
    add_group();
    open_meter();
    read_after(0);
    read_after(SECOND);
    fake_sysfs_write(MBM(1, local), "Unavailable");
    read_after(SECOND);
    fake_sysfs_write(MBM(1, local), "7");
    fake_sysfs_write(MBM(1, total), "8");
    read_after(SECOND);
    assert_group(HM_GROUP_TOTAL, 4104);
    assert_int_equal(metered->group[HM_GROUP_LOCAL].is_known, 0);
    assert_non_null(strstr(metered->group_source, "resctrl; memory local: mon_data/mon_L3_01/mbm_local_bytes: "));
    fake_sysfs_remove("fs/resctrl/mon_groups/hybridmem.7.0"); /* the group is removed before the last reading */
    read_after(SECOND);
    assert_int_equal(metered->group[HM_GROUP_TOTAL].is_known, 0);
    assert_non_null(strstr(metered->group_source, "mbm_total_bytes: it is not there"));
}

static void assert_no_group(enum hm_group_bytes kind)
{
    assert_int_equal(metered->group[kind].is_known, 0);
    assert_true(metered->group[kind].amount == 0);
}

/* The kernel says "Unavailable" for a counter of a new group without traffic. */
static void test_counters_that_start_late(void **state)
{
    (void)state;
    add_group();
    fake_sysfs_write(MBM(0, total), "Unavailable");
    fake_sysfs_write(MBM(1, total), "Unavailable");
    fake_sysfs_write(MBM(1, local), "Unavailable");
    open_meter();
    read_after(0);
    assert_no_group(HM_GROUP_TOTAL);
    assert_group(HM_GROUP_LOCAL, 4096);
    assert_string_equal(metered->group_source,
                        "resctrl; memory total: none of its counters has a value yet (\"Unavailable\"); "
                        "memory local: 1 of its counters had no value (\"Unavailable\")");
    read_after(SECOND);
    fake_sysfs_write(MBM(1, total), "300");
    read_after(SECOND);
    assert_group(HM_GROUP_TOTAL, 300);
    fake_sysfs_write(MBM(0, total), "50");
    fake_sysfs_write(MBM(1, local), "7");
    read_after(SECOND);
    assert_group(HM_GROUP_TOTAL, 350);
    assert_group(HM_GROUP_LOCAL, 4103);
    assert_string_equal(metered->group_source, "resctrl");
    fake_sysfs_write(MBM(0, total), "Unavailable"); /* after a value, this is a gap */
    read_after(SECOND);
    assert_no_group(HM_GROUP_TOTAL);
}

/* Any other text is an error, and so is a counter that goes back. */
static void test_other_words_are_no_late_start(void **state)
{
    static const char *const words[] = {"Error", "Unassigned", "Unavailable now", "", "-1"};
    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        *metered = (struct hm_metered){0};
        add_group();
        fake_sysfs_write(MBM(1, total), words[i]);
        open_meter();
        read_after(0);
        fake_sysfs_write(MBM(1, total), "300");
        fake_sysfs_write(MBM(0, local), "4000");
        read_after(SECOND);
        assert_no_group(HM_GROUP_TOTAL);
        assert_no_group(HM_GROUP_LOCAL);
        hm_monitor_meter_close(&meter);
    }
}

static void test_a_group_of_one_counter(void **state)
{
    (void)state;
    add_group();
    fake_sysfs_remove(MBM(0, local));
    fake_sysfs_remove(MBM(1, local));
    open_meter();
    read_after(0);
    fake_sysfs_write(MBM(1, total), "8");
    read_after(SECOND);
    assert_group(HM_GROUP_TOTAL, 4104);
    assert_int_equal(metered->group[HM_GROUP_LOCAL].is_known, 0);
    assert_string_equal(metered->group_source, "resctrl; the processor does not count local bytes");
}

/* A group that was removed before it was opened, and a group without counters. */
static void test_a_group_without_counters(void **state)
{
    static const char *const reasons[] = {"the folder of the resctrl group: No such file", "no mon_data/mon_L3_*"};
    (void)state;
    add_group();
    fake_sysfs_remove("fs/resctrl/mon_groups/hybridmem.7.0");
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        *metered = (struct hm_metered){0};
        open_meter();
        read_after(0);
        read_after(SECOND);
        assert_int_equal(metered->group[HM_GROUP_TOTAL].is_known, 0);
        assert_non_null(strstr(metered->group_source, reasons[i]));
        hm_monitor_meter_close(&meter);
        fake_sysfs_write("fs/resctrl/mon_groups/hybridmem.7.0/tasks", "");
    }
}

static void test_a_group_after_another_monitor(void **state)
{
    (void)state;
    add_group();
    open_meter();
    read_after(0);
    hm_monitor_meter_close(&meter);
    open_meter();
    fake_sysfs_write(MBM(0, total), "9999");
    read_after(SECOND);
    assert_int_equal(metered->group[HM_GROUP_TOTAL].is_known, 0);
    assert_non_null(strstr(metered->group_source, "interrupted"));
    hm_monitor_meter_close(&meter);
    group = NULL;
    open_meter();
    assert_string_equal(metered->group_source, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sums_over_sockets_and_readings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_power_wants_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_largest_power_is_not_below_the_mean, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_machine_without_counters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_read_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_counter_that_vanishes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_lost_domain_leaves_the_others_peak, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_after_another_monitor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_traffic_by_tier, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_tiers_of_a_kind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_jobs_own_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_group_that_loses_its_counters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_counters_that_start_late, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_words_are_no_late_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_group_of_one_counter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_group_without_counters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_group_after_another_monitor, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
