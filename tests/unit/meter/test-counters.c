/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how counters are found and taken from the best source, and those of perf, on fake machines made of files: what
 * is counted, or the reason why not. Sources with tests of their own are powercap and resctrl. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/tiers/tiers.h"
#include "fakesysfs.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static void test_a_machine_without_counters(void **state)
{
    (void)state;
    fake_sysfs_find();
    fake_sysfs_step();
    assert_int_equal(fake.n_tried, HM_METERS);
    assert_int_equal(fake.gauges.n, 0);
    for (int i = 0; i < fake.n_tried; i++)
        assert_true(fake.tried[i].n == 0 && strlen(fake.tried[i].reason) > 20);
    assert_int_equal(fake.n_flows, 5);
    fake_sysfs_expect_unknown("package", "powercap: the kernel shows no RAPL zone");
    fake_sysfs_expect_unknown("package", "; perf-energy: the kernel has no PMU power");
    fake_sysfs_expect_unknown("memory", "; papi: PAPI is not asked");
    fake_sysfs_expect_unknown("platform", "; slurm: Slurm is not asked");
    assert_null(strstr(fake.flow[0].reason.text, "slurm"));
    fake_sysfs_expect_unknown("memory read", "perf-imc: the kernel has no PMU uncore_imc");
    fake_sysfs_expect_unknown("memory write", "; cxl: the kernel has no PMU cxl_pmu_mem");
    fake_sysfs_expect_unknown("memory read", "; perf-amd: the kernel has no PMU amd_umc (a virtual machine");
    fake_sysfs_expect_unknown("memory read", "; grace-cpus: the kernel has no PMU nvidia_scf_pmu (a virtual machine");
    assert_null(strstr(fake.flow[0].reason.text, "resctrl"));
}

static void add_energy_pmu(const char *unit)
{
    fake_sysfs_add_event("power", "32", "energy-pkg", "event=0x02");
    fake_sysfs_write("bus/event_source/devices/power/events/energy-pkg.unit", unit);
    fake_sysfs_write("bus/event_source/devices/power/events/energy-pkg.scale", "2.3283064365386962890625e-10");
    fake.counts[0] = 0;
    fake.counts[1] = UINT64_C(3) << 31; /* 1.5 J */
    fake.counts[2] = UINT64_C(5) << 31; /* 2.5 J */
    fake.n_counts = 3;
}

static void test_energy_by_perf(void **state)
{
    (void)state;
    add_energy_pmu("Joules");
    fake_sysfs_find();
    assert_int_equal(fake_sysfs_source("perf-energy")->n, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fake.attr[i].type, 32);
        assert_int_equal(fake.attr[i].config, 2);
        assert_int_equal(fake.attr[i].pinned, 1);
        assert_int_equal(fake.cpu[i], i);
    }
    fake_sysfs_step();
    fake_sysfs_expect("package-0", "perf-energy", 1.5);
    fake_sysfs_expect("package-1", "perf-energy", 1.5);
    fake_sysfs_expect_unknown("memory", "perf-energy: has no such counter here");
    fake_sysfs_step();
    fake_sysfs_expect("package-0", "perf-energy", 1);
}

static void test_a_counter_that_another_takes_for_a_while(void **state)
{
    (void)state;
    add_energy_pmu("Joules");
    fake.n_counts = 2;
    fake_sysfs_find();
    fake_sysfs_step();
    fake_sysfs_expect("package-0", "perf-energy", 1.5);
    fake_sysfs_step();
    fake_sysfs_expect_unknown("package-0", "power/energy-pkg on CPU 0: another user of perf has its hardware counter");
    fake.is_given_back = true;
    fake_sysfs_step(); /* the event is enabled again */
    fake_sysfs_expect_unknown("package-0", "another user of perf has its hardware counter");
    fake_sysfs_step(); /* the event's first value: what it counted before is not known */
    fake_sysfs_expect_unknown("package-0", "this is its first value");
}

static void test_the_best_source_is_taken(void **state)
{
    (void)state;
    add_energy_pmu("Joules");
    fake_sysfs_add_powercap("1000000");
    fake_sysfs_find();
    fake_sysfs_write(PACKAGE(0), "1000001");
    fake_sysfs_step();
    assert_int_equal(fake_sysfs_source("powercap")->n, 5);
    assert_int_equal(fake_sysfs_source("perf-energy")->n, 2);
    fake_sysfs_expect("package-0", "powercap", 1e-6);
}

static void test_perf_that_the_kernel_refuses(void **state)
{
    static const struct {
        int number;
        const char *reason;
    } rows[] = {
        {ENOENT, "power/energy-pkg on CPU 0: the kernel has no such hardware event here"},
        {EACCES, "power/energy-pkg on CPU 0: the kernel refuses"},
        {EPERM, "the kernel refuses"},
        {EBUSY, "somebody else has the counter"},
        {EMFILE, "too many open files"},
        {ENOMEM, "the user may lock no more memory"},
    };
    (void)state;
    add_energy_pmu("Joules");
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        fake.perf_fails = rows[i].number;
        fake_sysfs_find();
        assert_int_equal(fake.gauges.n, 0);
        assert_non_null(strstr(fake_sysfs_source("perf-energy")->reason, rows[i].reason));
    }
}

static void test_a_pmu_that_is_described_badly(void **state)
{
    static const struct {
        const char *file, *line, *reason; /* `file` is in the PMU's folder */
    } rows[] = {
        {"type", "x", "power/type: Bad message"},
        {"type", "4294967296", "2^32 or more"},
        {"cpumask", "0-", "\"0-\""},
        {"events/energy-pkg", "event=0x102", "term \"event\": 0x102 has more bits"},
        {"events/energy-pkg", "config=2", "no format for the term \"config\""},
        {"events/energy-pkg.unit", "Calories", "\"Calories\" where Joules is expected"},
        {"events/energy-pkg.scale", "0", "\"0\" is no scale"},
        {"format/event", "config:0-70", "is no format"},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char path[128];
        add_energy_pmu("Joules");
        snprintf(path, sizeof(path), "bus/event_source/devices/power/%s", rows[i].file);
        fake_sysfs_write(path, rows[i].line);
        fake_sysfs_find();
        assert_int_equal(fake.gauges.n, 0);
        if (!strstr(fake_sysfs_source("perf-energy")->reason, rows[i].reason))
            fail_msg("\"%s\" has no \"%s\"", fake_sysfs_source("perf-energy")->reason, rows[i].reason);
        fake_sysfs_remove(path);
    }
}

static void test_traffic_by_tier(void **state)
{
    static struct hm_tiers tiers = {.n_tiers = 4,
                                    .tier = {{.name = "near", .kind = HM_KIND_DRAM},
                                             {.name = "optane", .kind = HM_KIND_PMEM},
                                             {.name = "far", .kind = HM_KIND_CXL},
                                             {.name = "odd", .kind = HM_KIND_UNKNOWN}}};
    (void)state;
    fake.tiers = &tiers;
    fake_sysfs_add_memory_controllers();
    fake_sysfs_find();
    fake_sysfs_step();
    fake_sysfs_expect("near read", "perf-imc", 4 * 1000 * 64);
    fake_sysfs_expect("near write", "perf-imc", 4 * 1000 * 64);
    fake_sysfs_expect_unknown("optane read", "perf-imc: has no such counter here; perf-amd: the kernel has no PMU");
    fake_sysfs_expect_unknown("far write", "cxl: the kernel has no PMU cxl_pmu_mem");
    fake_sysfs_expect_unknown("odd read", "its counters are, too (give the kind in hybridmem.conf)");
    tiers.tier[1].kind = HM_KIND_DRAM; /* two tiers of one kind: the counters are of both */
    hm_gauges_close(&fake.gauges, 0);
    fake_sysfs_find();
    fake_sysfs_step();
    fake_sysfs_expect("dram read", "perf-imc", 4 * 1000 * 64);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, fake_sysfs_make, fake_sysfs_drop)
    const struct CMUnitTest tests[] = {
        TEST(test_a_machine_without_counters),
        TEST(test_energy_by_perf),
        TEST(test_a_counter_that_another_takes_for_a_while),
        TEST(test_the_best_source_is_taken),
        TEST(test_perf_that_the_kernel_refuses),
        TEST(test_a_pmu_that_is_described_badly),
        TEST(test_traffic_by_tier),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
