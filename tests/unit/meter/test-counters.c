/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the sources of counters on fake machines made of files: what is found and counted, or the reason why not. */
#include <errno.h>
#include <fcntl.h>
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

#define PACKAGE "class/powercap/intel-rapl:0/energy_uj"
#define DRAM "class/powercap/intel-rapl:1/intel-rapl:1:0/energy_uj"

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
        fake_sysfs_write(PACKAGE, "10001000");
        fake_sysfs_write("class/powercap/intel-rapl:1/energy_uj", "10001000");
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
    fake_sysfs_write(PACKAGE, "1149"); /* 851 counts to the wrap, and 1149 after it */
    fake_sysfs_write(DRAM, "262143328500");
    fake_sysfs_step();
    assert_int_equal(fake.n_flows, 7);
    fake_sysfs_expect("package-0", "powercap", 0.002);
    fake_sysfs_expect("package-1", "powercap", 0);
    fake_sysfs_expect("memory-0", "powercap", 0);
    fake_sysfs_expect("memory-1", "powercap", 0.0005);
    fake_sysfs_expect("platform", "powercap", 0);
    fake_sysfs_write(PACKAGE, "100001149");
    fake_sysfs_step();
    fake_sysfs_expect("package-0", "powercap", 100);
    fake_sysfs_expect("memory-1", "powercap", 0);
}

static void test_powercap_that_is_lost_and_comes_back(void **state)
{
    (void)state;
    fake_sysfs_add_powercap("1000000");
    fake_sysfs_find();
    fake_sysfs_remove(PACKAGE);
    fake_sysfs_write(DRAM, "1000007");
    fake_sysfs_step();
    fake_sysfs_expect_unknown("package-0", PACKAGE ": it is not there any more");
    fake_sysfs_expect("memory-1", "powercap", 7e-6);
    fake_sysfs_step();
    fake_sysfs_expect_unknown("package-0", "it is not there any more");
    fake_sysfs_write(PACKAGE "/in-a-folder", "5000000");
    fake_sysfs_step();
    fake_sysfs_expect_unknown("package-0", PACKAGE ": what was read is not a valid value");
    fake_sysfs_remove(PACKAGE);
    fake_sysfs_write(PACKAGE, "5000000");
    fake_sysfs_step();
    fake_sysfs_expect_unknown("package-0", "this is its first value");
    fake_sysfs_write(PACKAGE, "5000009");
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
        fake_sysfs_write(PACKAGE, rows[i].line);
        fake_sysfs_step();
        fake_sysfs_expect_unknown("package-0", rows[i].reason);
        fake_sysfs_expect("package-1", "powercap", 0);
        fake_sysfs_write(PACKAGE, "1000000");
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
    fake_sysfs_remove(PACKAGE);
    fake_sysfs_write(PACKAGE "/in-a-folder", "1");
    fake_sysfs_find();
    assert_int_equal(fake.gauges.n, 0);
    assert_string_equal(fake_sysfs_source("powercap")->reason, PACKAGE ": Invalid argument");
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
    fake_sysfs_write(PACKAGE, "1000001");
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

static void mount_resctrl(void)
{
    fake_sysfs_write("fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "1000");
    fake_sysfs_write("fs/resctrl/mon_data/mon_L3_01/mbm_total_bytes", "5000");
    fake_sysfs_write("fs/resctrl/mon_data/mon_L3_00/mbm_local_bytes", "700");
    fake_sysfs_write("fs/resctrl/mon_data/mon_L3_01/mbm_local_bytes", "800");
    fake.setup.resctrl = open(scratch_path("sys/fs/resctrl"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fake.setup.resctrl >= 0);
}

static void test_resctrl(void **state)
{
    static const char *const none[] = {"Unavailable", "Error", "Unassigned"};
    (void)state;
    mount_resctrl();
    fake_sysfs_find();
    assert_int_equal(fake_sysfs_source("resctrl")->n, 4);
    fake_sysfs_write("fs/resctrl/mon_data/mon_L3_01/mbm_total_bytes", "5100");
    fake_sysfs_step();
    fake_sysfs_expect("memory total", "resctrl", 100);
    fake_sysfs_expect("memory local", "resctrl", 0);
    for (size_t i = 0; i < N_ROWS(none); i++) {
        fake_sysfs_write("fs/resctrl/mon_data/mon_L3_01/mbm_total_bytes", none[i]);
        fake_sysfs_step();
        fake_sysfs_expect_unknown("memory total", none[i]);
        fake_sysfs_expect("memory local", "resctrl", 0);
    }
    fake_sysfs_write("fs/resctrl/mon_data/mon_L3_01/mbm_total_bytes", "5200");
    fake_sysfs_step();
    fake_sysfs_expect_unknown("memory total", "this is its first value");
    fake_sysfs_write("fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "900");
    fake_sysfs_step();
    fake_sysfs_expect_unknown("memory total", "mon_L3_00/mbm_total_bytes: it was reset");
    fake_sysfs_write("fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "4000000000900"); /* 4 TB/s */
    fake_sysfs_step();
    fake_sysfs_expect("memory total", "resctrl", 4e12);
    fake_sysfs_write("fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "1129899906843524"); /* 2^44 * 64 more */
    fake_sysfs_step();
    fake_sysfs_expect_unknown("memory total", "mon_L3_00/mbm_total_bytes: it was reset");
}

/* A control group's counters include those of its monitoring groups, until these are removed. */
static void test_resctrl_groups_that_come_and_go(void **state)
{
    static const char *const why = "was made or removed";
    (void)state;
    fake_sysfs_write("fs/resctrl/mon_groups/hybridmem.7.0/tasks", "");
    mount_resctrl();
    fake_sysfs_find();
    fake_sysfs_write("fs/resctrl/mon_data/mon_L3_01/mbm_total_bytes", "5900");
    fake_sysfs_write("fs/resctrl/mon_groups/hybridmem.7.0/tasks", "17"); /* a task in a group changes nothing */
    fake_sysfs_step();
    fake_sysfs_expect("memory total", "resctrl", 900);
    fake_sysfs_remove("fs/resctrl/mon_groups/hybridmem.7.0");
    fake_sysfs_write("fs/resctrl/mon_data/mon_L3_01/mbm_total_bytes", "5500"); /* less, by what the group had counted */
    fake_sysfs_write("fs/resctrl/mon_data/mon_L3_01/mbm_local_bytes", "1800"); /* wrong, too, though it is not less */
    fake_sysfs_step();
    fake_sysfs_expect_unknown("memory total", why);
    fake_sysfs_expect_unknown("memory local", why);
    fake_sysfs_step();
    fake_sysfs_expect("memory total", "resctrl", 0);
    fake_sysfs_write("fs/resctrl/mon_groups/hybridmem.8.0/tasks", ""); /* made and removed between two readings */
    fake_sysfs_remove("fs/resctrl/mon_groups/hybridmem.8.0");
    fake_sysfs_step();
    fake_sysfs_expect_unknown("memory total", why);
    fake_sysfs_write("fs/resctrl/mon_data/mon_L3_01/mbm_total_bytes", "100");
    fake_sysfs_step();
    fake_sysfs_expect_unknown("memory total", "it was reset");
}

/* A group that is made during a reading spoils the interval that ends then, and the next one. */
static void test_a_group_that_comes_during_a_reading(void **state)
{
    struct hm_groupwatch watch;
    struct hm_error error = {""};
    (void)state;
    mount_resctrl();
    assert_int_equal(hm_groupwatch_open(&watch, fake.setup.resctrl, &error), 0);
    assert_false(watch.is_on || hm_groupwatch_has_news(&watch) || hm_groupwatch_end_reading(&watch, false));
    fake_sysfs_write("fs/resctrl/mon_groups/a/tasks", "");
    assert_int_equal(hm_groupwatch_open(&watch, fake.setup.resctrl, &error), 0);
    assert_false(hm_groupwatch_has_news(&watch) || hm_groupwatch_end_reading(&watch, false));
    fake_sysfs_write("fs/resctrl/mon_groups/b/tasks", "");
    assert_true(hm_groupwatch_end_reading(&watch, false));
    assert_true(hm_groupwatch_end_reading(&watch, false));
    assert_false(hm_groupwatch_end_reading(&watch, false));
    fake_sysfs_remove("fs/resctrl/mon_groups/b");
    assert_true(hm_groupwatch_end_reading(&watch, hm_groupwatch_has_news(&watch)));
    assert_false(hm_groupwatch_end_reading(&watch, hm_groupwatch_has_news(&watch)));
    hm_groupwatch_close(&watch);
    assert_false(watch.is_on);
    /* Groups that cannot be watched are an error. */
    fake_sysfs_remove("fs/resctrl/mon_groups");
    fake_sysfs_write("fs/resctrl/mon_groups", "no folder");
    assert_int_equal(hm_groupwatch_open(&watch, fake.setup.resctrl, &error), -1);
    assert_string_equal(error.text, "mon_groups cannot be watched: Not a directory");
}

/* Sub-NUMA clusters: the CPUs of two NUMA nodes share a last-level cache. Node 2 has no CPUs. */
static void test_resctrl_with_clusters(void **state)
{
    static const struct {
        const char *modalias, *sharing, *part; /* `part` has a cluster's counters */
        size_t n;
    } rows[] = {
        {"cpu:type:x86,ven0000fam0006mod008F:feature:,0000", "0-7", "mon_L3_00", 4},
        {"cpu:type:x86,ven0000fam0006mod008F:feature:,0000", "0-15", "mon_L3_00", 0},
        {"cpu:type:x86,ven0000fam0006mod008F:feature:,0000", "0-15", "mon_L3_00/mon_sub_L3_00", 4},
        {"cpu:type:x86,ven0002fam0019mod0011:feature:,0000", "0-15", "mon_L3_00", 4},
    };
    (void)state;
    mount_resctrl();
    fake_sysfs_write("devices/system/node/node0/cpulist", "0-7");
    fake_sysfs_write("devices/system/node/node1/cpulist", "8-15");
    fake_sysfs_write("devices/system/node/node2/cpulist", "");
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char path[128];
        snprintf(path, sizeof(path), "fs/resctrl/mon_data/%s/mbm_total_bytes", rows[i].part);
        fake_sysfs_write(path, "1000");
        fake_sysfs_write("devices/system/cpu/cpu0/cache/index3/shared_cpu_list", rows[i].sharing);
        fake_sysfs_write("devices/system/cpu/modalias", rows[i].modalias);
        fake_sysfs_find();
        assert_int_equal(fake_sysfs_source("resctrl")->n, rows[i].n);
        if (rows[i].n == 0)
            assert_non_null(strstr(fake_sysfs_source("resctrl")->reason, "a part of the traffic with sub-NUMA"));
        hm_gauges_close(&fake.gauges, 0);
    }
}

static void test_resctrl_that_has_less(void **state)
{
    (void)state;
    mount_resctrl();
    fake_sysfs_remove("fs/resctrl/mon_data/mon_L3_00/mbm_local_bytes");
    fake_sysfs_remove("fs/resctrl/mon_data/mon_L3_01/mbm_local_bytes");
    fake_sysfs_find();
    assert_int_equal(fake_sysfs_source("resctrl")->n, 2);
    hm_gauges_close(&fake.gauges, 0);
    fake_sysfs_remove("fs/resctrl/mon_data");
    fake_sysfs_find();
    assert_int_equal(fake.gauges.n, 0);
    assert_non_null(strstr(fake_sysfs_source("resctrl")->reason, "resctrl is not mounted"));
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
        TEST(test_the_dies_of_a_package),
        TEST(test_powercap_moves_and_wraps),
        TEST(test_powercap_that_is_lost_and_comes_back),
        TEST(test_powercap_values_that_are_not_valid),
        TEST(test_powercap_is_used_whole_or_not_at_all),
        TEST(test_energy_by_perf),
        TEST(test_a_counter_that_another_takes_for_a_while),
        TEST(test_the_best_source_is_taken),
        TEST(test_perf_that_the_kernel_refuses),
        TEST(test_a_pmu_that_is_described_badly),
        TEST(test_traffic_by_tier),
        TEST(test_resctrl),
        TEST(test_resctrl_groups_that_come_and_go),
        TEST(test_a_group_that_comes_during_a_reading),
        TEST(test_resctrl_with_clusters),
        TEST(test_resctrl_that_has_less),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
