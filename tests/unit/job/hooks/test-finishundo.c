/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what the end of a job takes back: its memory, the settings that it changed, and its resctrl group. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/files.h"
#include "base/heldlock.h"
#include "base/look.h"
#include "finishfixture.h"
#include "job/hooks/finish.h"
#include "job/ledger/living.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static bool child_hangs; /* the child process that removes the group is killed at the end of its time */

/* In place of base/look.c. Checks that the ledger is not locked while the child process runs, so that nobody waits. */
int hm_look(int (*look)(const void *question, void *found), const void *question, void *found, size_t size,
            int given_ms)
{
    assert_int_equal(hm_heldlock_check("a process", NULL), 0);
    assert_true(size > 0 && given_ms <= 5000);
    errno = child_hangs ? ETIMEDOUT : look(question, found);
    return errno == 0 ? 0 : -1;
}

/* Memory that no later reap can remove drains the node. */
static void memory_that_stays_drains_the_node(void **state)
{
    (void)state;
    snprintf(job.node, sizeof(job.node), "n9");
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    left_by = EIO;
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0); /* not 1, as no later reap can remove it */
    assert_string_equal(
        drained, "n9: hybridmem: job 7: persistent memory was not given back: namespace0.0 is in use by 17 (cp)");
    assert_true(has_warning("its DAX file systems were not removed: namespace0.0 is in use by 17 (cp)"));
}

/*
 * Memory in use does not drain the node, as another job of the user can keep it in use for any time. Nor does a wipe
 * that needs more time, or an overload of the node.
 */
static void memory_that_is_for_later_drains_no_node(void **state)
{
    static const int numbers[] = {EBUSY, ETIME, EAGAIN, ENOMEM, ETIMEDOUT};
    for (size_t i = 0; i < N_ROWS(numbers); i++) {
        assert_int_equal(finish_set_up(state), 0);
        left_by = numbers[i];
        assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 1);
        assert_true(waited);
        assert_int_equal(patience_ms, HM_FINISH_PATIENCE_MS);
        assert_string_equal(drained, "");
        assert_true(has_warning("its DAX file systems were not removed: namespace0.0 is in use by 17 (cp)"));
        assert_int_equal(hm_ledger_read(&config, 7, &job, &error), -1);
        assert_int_equal(errno, ENOENT);
    }
    /*
     * If the record cannot be written, the entry stays, and hm_finish_job returns 0: the reap that ends the job again
     * removes its memory, too.
     */
    assert_int_equal(finish_set_up(state), 0);
    left_by = ETIME;
    is_record_lost = true;
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
}

/* A setting that cannot be restored keeps its entry, so that the next reap tries again. The record is written once. */
static void a_setting_that_is_not_restored_keeps_the_entry(void **state)
{
    (void)state;
    char text[16];
    job.n_changes = 1;
    job.change[0] = (struct hm_change){.before = "1", .after = "3"};
    snprintf(job.change[0].path, sizeof(job.change[0].path), "%s", scratch); /* a folder */
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0);
    assert_int_equal(recorded.job_id, 7);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_int_equal(job.n_changes, 1);
    assert_int_equal(job.finisher.pid, 0);
    assert_false(job.recorded);
    assert_false(hm_job_is_living(&job, NULL));
    scratch_write(scratch_path("setting"), "3\n");
    snprintf(job.change[0].path, sizeof(job.change[0].path), "%s/setting", scratch);
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    recorded.job_id = 0;
    assert_int_equal(hm_finish_job(&config, 7, "found dead", NULL), 0);
    assert_int_equal(recorded.job_id, 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(hm_file_read(scratch_path("setting"), text, sizeof(text), NULL), 0);
    assert_string_equal(text, "1");
}

/* Makes a folder like a resctrl group, which is empty unless the test fills it. */
static void leave_group(void)
{
    assert_int_equal(scratch_remove(scratch_path("resctrl")), 0);
    snprintf(config.resctrl_dir, sizeof(config.resctrl_dir), "%s/resctrl", scratch);
    assert_int_equal(mkdir(scratch_path("resctrl"), 0700), 0);
    assert_int_equal(mkdir(scratch_path("resctrl/mon_groups"), 0700), 0);
    assert_int_equal(mkdir(scratch_path("resctrl/mon_groups/hybridmem.7.2"), 0700), 0);
    job.mongroup = (struct hm_mongroup){.is_begun = true, .restart = 2};
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
}

static bool is_group_there(void)
{
    return access(scratch_path("resctrl/mon_groups/hybridmem.7.2"), F_OK) == 0;
}

static void the_group_is_removed_after_the_monitor(void **state)
{
    char text[HM_WARNING];
    leave_group();
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0);
    assert_false(is_group_there());
    assert_true(recorded.mongroup.is_begun); /* the record has what the group counted */
    assert_string_equal(recorded.mongroup.why, "");
    /* A group that cannot be removed gives a warning in the record, and does not affect the record's figures. */
    assert_int_equal(finish_set_up(state), 0);
    leave_group();
    scratch_write(scratch_path("resctrl/mon_groups/hybridmem.7.2/held"), "");
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0);
    snprintf(text, sizeof(text),
             "its resctrl group was not removed: cannot remove %s/resctrl/mon_groups/hybridmem.7.2: "
             "Directory not empty",
             scratch);
    assert_true(has_warning(text));
    assert_string_equal(recorded.mongroup.why, "");
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), -1);
}

/* A user can make the removal of the group last for ever. The job ends all the same, and the record says so. */
static void a_removal_that_hangs_is_given_up(void **state)
{
    (void)state;
    leave_group();
    child_hangs = true;
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), 0);
    child_hangs = false;
    assert_true(is_group_there()); /* no other process has removed it */
    assert_true(has_warning("its resctrl group was not removed: cannot remove resctrl groups within 5 s: a file system "
                            "that was mounted there is still in use"));
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), -1);
    assert_int_equal(errno, ENOENT);
}

static void the_group_of_a_new_run_stays(void **state)
{
    (void)state;
    leave_group();
    is_used_again = true;
    assert_int_equal(hm_finish_job(&config, 7, NULL, NULL), -1);
    assert_true(is_group_there());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(memory_that_stays_drains_the_node, finish_set_up),
        cmocka_unit_test(memory_that_is_for_later_drains_no_node),
        cmocka_unit_test_setup(a_setting_that_is_not_restored_keeps_the_entry, finish_set_up),
        cmocka_unit_test_setup(the_group_is_removed_after_the_monitor, finish_set_up),
        cmocka_unit_test_setup(a_removal_that_hangs_is_given_up, finish_set_up),
        cmocka_unit_test_setup(the_group_of_a_new_run_stays, finish_set_up),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
