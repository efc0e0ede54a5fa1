/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests what a job's monitor makes of the node's counters: sums from its first reading on, the peak power, and why a
 * figure is not known.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "fakesysfs.h"
#include "monitorfixture.h"
#include "unit/lib/scratch.h"

static void assert_joules(enum hm_domain domain, double joules)
{
    assert_int_equal(metered->energy[domain].is_known, 1);
    assert_true(fabs(metered->energy[domain].amount - joules) < 1e-9);
}

static void test_sums_over_sockets_and_readings(void **state)
{
    (void)state;
    fake_sysfs_add_powercap("262143328000");
    monitor_open(NULL);
    monitor_read_after(0);
    fake_sysfs_write(PACKAGE(0), "149");          /* 851 counts to the wrap, and 149 after it: 1 mJ */
    fake_sysfs_write(PACKAGE(1), "262143328500"); /* 0.5 mJ */
    fake_sysfs_write(ZONE(1, 0), "262143328250");
    monitor_read_after(2 * SECOND);
    assert_joules(HM_DOMAIN_PACKAGE, 0.0015);
    assert_joules(HM_DOMAIN_MEMORY, 0.00025);
    assert_joules(HM_DOMAIN_PLATFORM, 0);
    fake_sysfs_write(PACKAGE(0), "300000149"); /* 300 J in 3 s */
    monitor_read_after(3 * SECOND);
    assert_joules(HM_DOMAIN_PACKAGE, 300.0015);
    monitor_read_after(SECOND); /* nothing was counted: the peak stays */
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
    monitor_open(NULL);
    monitor_read_after(0);
    fake_sysfs_write(PACKAGE(0), "5000000");
    monitor_read_after(SECOND / 100);
    assert_joules(HM_DOMAIN_PACKAGE, 5);
    assert_int_equal(metered->peak_w.is_known, 0);
    monitor_read_after(SECOND - SECOND / 100);
    assert_true(metered->peak_w.is_known && fabs(metered->peak_w.amount - 5) < 1e-6);
}

/* The last reading comes 50 ms after the one before, and most energy was counted in that time. */
static void test_the_largest_power_is_not_below_the_mean(void **state)
{
    (void)state;
    fake_sysfs_add_powercap("0");
    monitor_open(NULL);
    monitor_read_after(0);
    fake_sysfs_write(PACKAGE(0), "1000000");
    monitor_read_after(SECOND);
    assert_true(fabs(metered->peak_w.amount - 1) < 1e-6);
    fake_sysfs_write(PACKAGE(0), "10500000");
    monitor_read_after(SECOND / 20);
    assert_true(fabs(metered->peak_w.amount - 10) < 1e-6);
}

static void test_a_machine_without_counters(void **state)
{
    (void)state;
    monitor_open(NULL);
    monitor_read_after(0);
    monitor_read_after(SECOND);
    assert_int_equal(metered->n_readings, 2);
    for (int d = 0; d < HM_DOMAINS; d++)
        assert_int_equal(metered->energy[d].is_known, 0);
    assert_non_null(strstr(metered->energy_source, "powercap: the kernel shows no RAPL zone"));
    assert_non_null(strstr(metered->traffic_source, "perf-imc: the kernel has no PMU"));
    assert_in_range(meter.n_tried, 4, HM_METERS);
    for (int i = 0; i < meter.n_tried; i++) { /* the reason of each source is there in full */
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
    monitor_open(NULL);
    monitor_read_after(0);
    assert_int_equal(metered->energy[HM_DOMAIN_PACKAGE].is_known, 0);
    assert_true(metered->energy_source[0] != '\0');
}

/* After one failed reading of a counter, its domain's energy stays unknown. The other domains go on. */
static void test_a_counter_that_vanishes(void **state)
{
    (void)state;
    fake_sysfs_add_powercap("0");
    monitor_open(NULL);
    monitor_read_after(0);
    monitor_read_after(SECOND);
    fake_sysfs_write(ZONE(0, 1), "Error");
    monitor_read_after(SECOND);
    fake_sysfs_write(ZONE(0, 1), "1000000");
    fake_sysfs_write(PACKAGE(0), "1000000");
    monitor_read_after(SECOND);
    assert_joules(HM_DOMAIN_PACKAGE, 1);
    assert_int_equal(metered->energy[HM_DOMAIN_MEMORY].is_known, 0);
    assert_true(metered->energy[HM_DOMAIN_MEMORY].amount == 0);
    assert_non_null(strstr(metered->energy_source, "powercap; memory-0: class/powercap/intel-rapl:0/intel-rapl:0:1"));
    assert_int_equal(metered->peak_w.is_known, 1); /* the peak of packages alone */
    assert_true(fabs(metered->peak_w.amount - 1) < 1e-6);
}

/* The peak power came before the energy of DRAM was lost. From then on the peak is that of the packages alone, since
 * the beginning and not only since the loss. */
static void test_a_lost_domain_leaves_the_others_peak(void **state)
{
    (void)state;
    fake_sysfs_add_powercap("0");
    monitor_open(NULL);
    monitor_read_after(0);
    fake_sysfs_write(PACKAGE(0), "100000000");
    fake_sysfs_write(ZONE(0, 1), "20000000");
    monitor_read_after(SECOND);
    assert_true(fabs(metered->peak_w.amount - 120) < 1e-6);
    fake_sysfs_write(PACKAGE(0), "130000000");
    monitor_read_after(SECOND);
    assert_true(fabs(metered->peak_w.amount - 120) < 1e-6);
    fake_sysfs_write(ZONE(0, 1), "Error");
    fake_sysfs_write(PACKAGE(0), "131000000");
    for (int i = 0; i < 2; i++) {
        monitor_read_after(SECOND);
        assert_int_equal(metered->peak_w.is_known, 1);
        assert_true(fabs(metered->peak_w.amount - 100) < 1e-6);
    }
    /* Without the packages' energy there is no power, even if their counter comes back. */
    fake_sysfs_write(PACKAGE(0), "Error");
    monitor_read_after(SECOND);
    fake_sysfs_write(PACKAGE(0), "900000000");
    for (int i = 0; i < 2; i++) {
        monitor_read_after(SECOND);
        assert_int_equal(metered->peak_w.is_known, 0);
        assert_true(metered->peak_w.amount == 0);
    }
}

static void test_after_another_monitor(void **state)
{
    (void)state;
    fake_sysfs_add_powercap("0");
    monitor_open(NULL);
    monitor_read_after(0);
    monitor_read_after(SECOND);
    hm_monitor_meter_close(&meter);
    monitor_open(NULL);
    fake_sysfs_write(PACKAGE(0), "1000000");
    monitor_read_after(SECOND);
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
    monitor_open(NULL);
    monitor_read_after(0);
    monitor_read_after(SECOND);
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
    monitor_open(NULL);
    monitor_read_after(0);
    monitor_read_after(SECOND);
    for (int t = 0; t < 2; t++)
        assert_int_equal(metered->traffic[t][HM_DIRECTION_READ].is_known, 0);
    assert_non_null(
        strstr(metered->traffic_source, "dram has counters, but no tier, or more than one, is of this kind"));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, monitor_set_up, monitor_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_sums_over_sockets_and_readings),
        TEST(test_power_wants_time),
        TEST(test_the_largest_power_is_not_below_the_mean),
        TEST(test_a_machine_without_counters),
        TEST(test_read_once),
        TEST(test_a_counter_that_vanishes),
        TEST(test_a_lost_domain_leaves_the_others_peak),
        TEST(test_after_another_monitor),
        TEST(test_traffic_by_tier),
        TEST(test_two_tiers_of_a_kind),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
