/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what a job's monitor makes of the counters of the job's own resctrl group. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "fakesysfs.h"
#include "monitorfixture.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define MBM(cache, file) "fs/resctrl/mon_groups/hybridmem.7.0/mon_data/mon_L3_0" #cache "/mbm_" #file "_bytes"

/* Add the job's resctrl group, with two caches. */
static void add_group(void)
{
    fake_sysfs_write(MBM(0, total), "4096");
    fake_sysfs_write(MBM(1, total), "0");
    fake_sysfs_write(MBM(0, local), "4096");
    fake_sysfs_write(MBM(1, local), "0");
    fake_sysfs_write("fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "999");
}

static void open_with_group(void)
{
    monitor_open(scratch_path("sys/fs/resctrl/mon_groups/hybridmem.7.0"));
}

static void assert_group(enum hm_group_bytes kind, double bytes)
{
    assert_int_equal(metered->group[kind].is_known, 1);
    assert_true(metered->group[kind].amount == bytes);
}

/* What the group counted before the first reading is the job's, too, as the group was made for the job. The group's
 * bytes are not added to any tier. */
static void test_the_jobs_own_group(void **state)
{
    (void)state;
    add_group();
    open_with_group();
    monitor_read_after(0);
    fake_sysfs_write(MBM(0, total), "5096");
    fake_sysfs_write(MBM(1, total), "300");
    fake_sysfs_write(MBM(0, local), "4196");
    monitor_read_after(SECOND);
    fake_sysfs_write(MBM(1, total), "301");
    monitor_read_after(SECOND);
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
    open_with_group();
    monitor_read_after(0);
    monitor_read_after(SECOND);
    fake_sysfs_write(MBM(1, local), "Unavailable");
    monitor_read_after(SECOND);
    fake_sysfs_write(MBM(1, local), "7");
    fake_sysfs_write(MBM(1, total), "8");
    monitor_read_after(SECOND);
    assert_group(HM_GROUP_TOTAL, 4104);
    assert_int_equal(metered->group[HM_GROUP_LOCAL].is_known, 0);
    assert_non_null(strstr(metered->group_source, "resctrl; memory local: mon_data/mon_L3_01/mbm_local_bytes: "));
    fake_sysfs_remove("fs/resctrl/mon_groups/hybridmem.7.0"); /* the group is removed before the last reading */
    monitor_read_after(SECOND);
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
    open_with_group();
    monitor_read_after(0);
    assert_no_group(HM_GROUP_TOTAL);
    assert_group(HM_GROUP_LOCAL, 4096);
    assert_string_equal(metered->group_source,
                        "resctrl; memory total: none of its counters has a value yet (\"Unavailable\"); "
                        "memory local: 1 of its counters had no value (\"Unavailable\")");
    monitor_read_after(SECOND);
    fake_sysfs_write(MBM(1, total), "300");
    monitor_read_after(SECOND);
    assert_group(HM_GROUP_TOTAL, 300);
    fake_sysfs_write(MBM(0, total), "50");
    fake_sysfs_write(MBM(1, local), "7");
    monitor_read_after(SECOND);
    assert_group(HM_GROUP_TOTAL, 350);
    assert_group(HM_GROUP_LOCAL, 4103);
    assert_string_equal(metered->group_source, "resctrl");
    fake_sysfs_write(MBM(0, total), "Unavailable"); /* after a value, this is a gap */
    monitor_read_after(SECOND);
    assert_no_group(HM_GROUP_TOTAL);
}

/* AMD's processors track a few groups only, and have no counter of the others. */
static void test_counters_without_a_value_on_amd(void **state)
{
    (void)state;
    add_group();
    fake_sysfs_write("devices/system/cpu/modalias", "cpu:type:x86,ven0002fam0019mod0011:feature:,0000");
    fake_sysfs_write(MBM(0, total), "Unavailable"); /* no task has run yet */
    fake_sysfs_write(MBM(1, total), "Unavailable");
    open_with_group();
    monitor_read_after(0);
    fake_sysfs_write(MBM(0, total), "300");
    monitor_read_after(SECOND);
    assert_no_group(HM_GROUP_TOTAL);
    assert_group(HM_GROUP_LOCAL, 4096);
    assert_string_equal(metered->group_source,
                        "resctrl; memory total: mon_data/mon_L3_01/mbm_total_bytes: it has had no value "
                        "(\"Unavailable\"): no traffic, or more groups than AMD's processors track");
    fake_sysfs_write(MBM(1, total), "7");
    monitor_read_after(SECOND);
    assert_group(HM_GROUP_TOTAL, 307);
}

/* Any text but "Unavailable" is an error, and so is a counter that goes back. */
static void test_other_words_are_no_late_start(void **state)
{
    static const char *const words[] = {"Error", "Unassigned", "Unavailable now", "", "-1"};
    (void)state;
    for (size_t i = 0; i < N_ROWS(words); i++) {
        *metered = (struct hm_metered){0};
        add_group();
        fake_sysfs_write(MBM(1, total), words[i]);
        open_with_group();
        monitor_read_after(0);
        fake_sysfs_write(MBM(1, total), "300");
        fake_sysfs_write(MBM(0, local), "4000");
        monitor_read_after(SECOND);
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
    open_with_group();
    monitor_read_after(0);
    fake_sysfs_write(MBM(1, total), "8");
    monitor_read_after(SECOND);
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
    for (size_t i = 0; i < N_ROWS(reasons); i++) {
        *metered = (struct hm_metered){0};
        open_with_group();
        monitor_read_after(0);
        monitor_read_after(SECOND);
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
    open_with_group();
    monitor_read_after(0);
    hm_monitor_meter_close(&meter);
    open_with_group();
    fake_sysfs_write(MBM(0, total), "9999");
    monitor_read_after(SECOND);
    assert_int_equal(metered->group[HM_GROUP_TOTAL].is_known, 0);
    assert_non_null(strstr(metered->group_source, "interrupted"));
    hm_monitor_meter_close(&meter);
    monitor_open(NULL);
    assert_string_equal(metered->group_source, "");
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, monitor_set_up, monitor_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_the_jobs_own_group),
        TEST(test_a_group_that_loses_its_counters),
        TEST(test_counters_that_start_late),
        TEST(test_counters_without_a_value_on_amd),
        TEST(test_other_words_are_no_late_start),
        TEST(test_a_group_of_one_counter),
        TEST(test_a_group_without_counters),
        TEST(test_a_group_after_another_monitor),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
