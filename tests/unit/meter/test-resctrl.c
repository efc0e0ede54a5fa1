/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the source resctrl of counters, and the watch over its groups, on a fake machine made of files. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fakesysfs.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

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

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, fake_sysfs_make, fake_sysfs_drop)
    const struct CMUnitTest tests[] = {
        TEST(test_resctrl),
        TEST(test_resctrl_groups_that_come_and_go),
        TEST(test_a_group_that_comes_during_a_reading),
        TEST(test_resctrl_with_clusters),
        TEST(test_resctrl_that_has_less),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
