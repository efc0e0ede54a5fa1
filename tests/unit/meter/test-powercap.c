/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the source powercap of counters, and the dies that it shares with perf, on a fake machine made of files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "fakesysfs.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

/* A package with two dies of cores, of which each has a zone of powercap and a CPU in the cpumask of perf's PMU. */
static void add_dies(const char *modalias)
{
    fake_sysfs_add_powercap("1000");
    fake_sysfs_write("class/powercap/intel-rapl:0/name", "package-0-die-0");
    fake_sysfs_write("class/powercap/intel-rapl:1/name", "package-0-die-1");
    fake_sysfs_add_event("power", "30", "energy-pkg", "event=0x02");
    fake_sysfs_write("bus/event_source/devices/power/events/energy-pkg.unit", "Joules");
    fake_sysfs_write("bus/event_source/devices/power/events/energy-pkg.scale", "0.5");
    fake_sysfs_write("devices/system/cpu/cpu1/topology/physical_package_id", "0");
    fake_sysfs_write("devices/system/cpu/modalias", modalias);
    fake.counts[1] = 20;
    fake.n_counts = 2;
}

static void test_the_dies_of_a_package(void **state)
{
    static const struct {
        const char *modalias;
        size_t zones, events; /* counters of packages' energy */
    } rows[] = {
        {"cpu:type:x86,ven0000fam0006mod0055:feature:,0000", 2, 2}, /* Cascade Lake AP: each die has a counter */
        {"cpu:type:x86,ven0002fam0019mod0011:feature:,0000", 1, 1}, /* AMD: one counter, shown twice */
        {"cpu:type:x86,ven0009fam0018mod0002:feature:,0000", 1, 1}, /* Hygon */
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        add_dies(rows[i].modalias);
        fake_sysfs_find();
        fake_sysfs_write(PACKAGE(0), "10001000");
        fake_sysfs_write(PACKAGE(1), "10001000");
        fake_sysfs_step();
        fake_sysfs_expect("package-0", "powercap", 10.0 * (double)rows[i].zones);
        assert_int_equal(fake_sysfs_source("perf-energy")->n, rows[i].events);
        hm_gauges_close(&fake.gauges, 0);
    }
}

static void test_powercap_moves_and_wraps(void **state)
{
    (void)state;
    fake_sysfs_add_powercap("262143328000");
    fake_sysfs_find();
    assert_int_equal(fake_sysfs_source("powercap")->n, 5);
    fake_sysfs_write(PACKAGE(0), "1149"); /* 851 counts to the wrap, and 1149 after it */
    fake_sysfs_write(ZONE(1, 0), "262143328500");
    fake_sysfs_step();
    assert_int_equal(fake.n_flows, 7);
    fake_sysfs_expect("package-0", "powercap", 0.002);
    fake_sysfs_expect("package-1", "powercap", 0);
    fake_sysfs_expect("memory-0", "powercap", 0);
    fake_sysfs_expect("memory-1", "powercap", 0.0005);
    fake_sysfs_expect("platform", "powercap", 0);
    fake_sysfs_write(PACKAGE(0), "100001149");
    fake_sysfs_step();
    fake_sysfs_expect("package-0", "powercap", 100);
    fake_sysfs_expect("memory-1", "powercap", 0);
}

static void test_powercap_that_is_lost_and_comes_back(void **state)
{
    (void)state;
    fake_sysfs_add_powercap("1000000");
    fake_sysfs_find();
    fake_sysfs_remove(PACKAGE(0));
    fake_sysfs_write(ZONE(1, 0), "1000007");
    fake_sysfs_step();
    fake_sysfs_expect_unknown("package-0", PACKAGE(0) ": it is not there any more");
    fake_sysfs_expect("memory-1", "powercap", 7e-6);
    fake_sysfs_step();
    fake_sysfs_expect_unknown("package-0", "it is not there any more");
    fake_sysfs_write(PACKAGE(0) "/in-a-folder", "5000000");
    fake_sysfs_step();
    fake_sysfs_expect_unknown("package-0", PACKAGE(0) ": what was read is not a valid value");
    fake_sysfs_remove(PACKAGE(0));
    fake_sysfs_write(PACKAGE(0), "5000000");
    fake_sysfs_step();
    fake_sysfs_expect_unknown("package-0", "this is its first value");
    fake_sysfs_write(PACKAGE(0), "5000009");
    fake_sysfs_step();
    fake_sysfs_expect("package-0", "powercap", 9e-6);
}

static void test_powercap_values_that_are_not_valid(void **state)
{
    static const struct {
        const char *line, *reason;
    } rows[] = {
        {"999999", "it was reset"},
        {"9999999999", "it was reset"},
        {"", "not a valid value"},
        {"abc", "not a valid value (\"abc\")"},
        {"-1", "not a valid value (\"-1\")"},
        {"262143328851", "not a valid value"},
        {"1\n2", "not a valid value"},
        {"\033[2J", "not a valid value (\"\\x1b[2J\")"},
    };
    (void)state;
    fake_sysfs_add_powercap("1000000");
    fake_sysfs_find();
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        fake_sysfs_write(PACKAGE(0), rows[i].line);
        fake_sysfs_step();
        fake_sysfs_expect_unknown("package-0", rows[i].reason);
        fake_sysfs_expect("package-1", "powercap", 0);
        fake_sysfs_write(PACKAGE(0), "1000000");
        fake_sysfs_step(); /* a first value, or one after a reset */
        fake_sysfs_step();
        fake_sysfs_expect("package-0", "powercap", 0);
    }
}

static void test_powercap_is_used_whole_or_not_at_all(void **state)
{
    (void)state;
    fake_sysfs_add_powercap("1");
    fake_sysfs_remove("class/powercap/intel-rapl:1/intel-rapl:1:0/max_energy_range_uj");
    fake_sysfs_find();
    assert_int_equal(fake.gauges.n, 0);
    assert_non_null(
        strstr(fake_sysfs_source("powercap")->reason, "intel-rapl:1:0/max_energy_range_uj: No such file or directory"));
    fake_sysfs_write("class/powercap/intel-rapl:1/intel-rapl:1:0/max_energy_range_uj", "much");
    fake_sysfs_find();
    assert_int_equal(fake.gauges.n, 0);
    fake_sysfs_write("class/powercap/intel-rapl:1/intel-rapl:1:0/max_energy_range_uj", "65532610987");
    fake_sysfs_remove(PACKAGE(0));
    fake_sysfs_write(PACKAGE(0) "/in-a-folder", "1");
    fake_sysfs_find();
    assert_int_equal(fake.gauges.n, 0);
    assert_string_equal(fake_sysfs_source("powercap")->reason, PACKAGE(0) ": Invalid argument");
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, fake_sysfs_make, fake_sysfs_drop)
    const struct CMUnitTest tests[] = {
        TEST(test_the_dies_of_a_package),
        TEST(test_powercap_moves_and_wraps),
        TEST(test_powercap_that_is_lost_and_comes_back),
        TEST(test_powercap_values_that_are_not_valid),
        TEST(test_powercap_is_used_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
