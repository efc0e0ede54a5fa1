/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how a job gets its monitoring group, and how its tasks enter it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/files.h"
#include "job/node/mongroup.h"
#include "job/step/task.h"
#include "mongroupfixture.h"
#include "slurm/stepname.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define SECOND 1000000000

static void test_no_group_where_none_is_wanted(void **state)
{
    (void)state;
    config.resctrl = false;
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    assert_false(job.mongroup.is_begun || job.mongroup.why[0]);
    assert_false(is_there(GROUP));
}

static void test_no_group_without_monitoring(void **state)
{
    (void)state;
    scratch_write(scratch_path(FEATURES), "llc_occupancy\n");
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    assert_non_null(strstr(job.mongroup.why, "no mbm_: the processor counts no memory traffic"));
    assert_false(hm_mongroup_is_whole(&job.mongroup) || is_there(GROUP));
    job.mongroup.why[0] = '\0';
    scratch_remove(scratch_path("resctrl"));
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    assert_non_null(strstr(job.mongroup.why, "No such file or directory (resctrl is not mounted, or monitors"));
    assert_false(job.mongroup.is_begun);
    hm_mongroup_reap(&config); /* nothing to reap */
}

/* Users who list a folder, or pass through it, can hold the kernel's lock of it (base/files.h). A step that makes a
 * group would wait for it, and would hold the ledger's lock meanwhile. */
static void test_no_group_where_users_reach_the_folder(void **state)
{
    struct hm_error error = {0};
    (void)state;
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    assert_int_equal(chmod(scratch_path("resctrl/mon_groups"), 0711), 0);
    assert_int_equal(hm_mongroup_remove(&config, 7, job.uid, &job.mongroup, &error), -1);
    hm_mongroup_reap(&config);
    assert_true(is_there(GROUP));
    job.mongroup = (struct hm_mongroup){0};
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    assert_non_null(strstr(job.mongroup.why, "no resctrl group: users reach the folder mon_groups"));
    hm_mongroup_shut(&config);
    assert_int_equal(mode_of("resctrl/mon_groups"), 0700);
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0); /* without a group */
    hm_mongroup_reap(&config);
    assert_false(is_there(GROUP));
    config.resctrl = false;
    assert_int_equal(chmod(scratch_path("resctrl/mon_groups"), 0755), 0);
    hm_mongroup_shut(&config);
    assert_int_equal(mode_of("resctrl/mon_groups"), 0755);
}

static void test_a_group_that_cannot_be_made(void **state)
{
    static const struct {
        int number;
        const char *said;
    } rows[] = {{ENOSPC, "no resctrl group: all of the processor's monitoring ids (RMIDs"},
                {EBUSY, "no resctrl group: all free monitoring ids (RMIDs)"},
                {EPERM, "no resctrl group: Operation not permitted"}};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        job.mongroup = (struct hm_mongroup){0};
        mkdir_fails = rows[i].number;
        hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
        assert_non_null(strstr(job.mongroup.why, rows[i].said));
        assert_false(hm_mongroup_is_whole(&job.mongroup));
    }
    /* Tasks have run outside a group meanwhile, so no group is made any more. */
    mkdir_fails = 0;
    hm_mongroup_make(&config, &job, 0);
    assert_false(is_there(GROUP));
}

/* Tasks that ran before the group existed are not counted: half of a job's traffic must not pass for all of it. */
static void test_no_group_after_the_first_step(void **state)
{
    (void)state;
    hm_job_add_step(&job, HM_STEP_BATCH);
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    assert_string_equal(job.mongroup.why, "steps ran before the job's record began");
    job.mongroup.why[0] = '\0';
    hm_job_add_step(&job, 0);
    hm_mongroup_make(&config, &job, 0);
    assert_string_equal(job.mongroup.why, "steps ran before the job's record began");
    assert_false(is_there(GROUP));
}

static void test_a_group_is_made_once_and_removed(void **state)
{
    struct timespec before, after;
    struct hm_error error = {0};
    (void)state;
    hm_job_add_step(&job, HM_STEP_BATCH);
    clock_gettime(CLOCK_MONOTONIC, &before);
    hm_mongroup_make(&config, &job, HM_STEP_BATCH);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_string_equal(job.mongroup.why, "");
    assert_in_range(job.mongroup.made_mono_ns, before.tv_sec * SECOND + before.tv_nsec,
                    after.tv_sec * SECOND + after.tv_nsec);
    assert_true(hm_mongroup_is_whole(&job.mongroup) && is_there(GROUP "/tasks"));
    assert_int_equal(mode_of(GROUP), 0700);
    mkdir_fails = EIO; /* not tried again */
    hm_job_add_step(&job, 0);
    hm_mongroup_make(&config, &job, 0);
    assert_true(hm_mongroup_is_whole(&job.mongroup));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hm_mongroup_remove(&config, 7, job.uid, &job.mongroup, &error), 0);
        assert_false(is_there(GROUP));
    }
    assert_true(is_there("resctrl/mon_groups"));
}

static const char *tasks(void)
{
    static char text[32];
    assert_int_equal(hm_file_read(scratch_path(GROUP "/tasks"), text, sizeof(text), NULL), 0);
    return text;
}

static void test_tasks_enter(void **state)
{
    /*
     * resctrl is mounted, and the process is in no group; resctrl is not mounted; the process is already in the job's
     * group
     */
    static const char *const rows[] = {"res:/\nmon:\n", "res:\nmon:\n", "res:/\nmon:hybridmem.7.2\n"};
    struct hm_error error = {0};
    char pid[16];
    (void)state;
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        scratch_write(scratch_path(GROUP "/tasks"), "");
        own_groups = rows[i];
        assert_int_equal(hm_mongroup_enter(&config, 7, &job.mongroup, &error), 0);
        assert_string_equal(tasks(), pid);
    }
}

static void test_tasks_of_a_sites_groups_stay_there(void **state)
{
    static const struct {
        const char *groups, *said;
    } rows[] = {
        {"res:batch\nmon:\n", "in resctrl's control group batch, and stay there"},
        {"res:/\nmon:pqos\n", "in resctrl's monitoring group pqos, and stay there"},
        {"res:/\nmon:hybridmem.7.1\n", "in resctrl's monitoring group hybridmem.7.1, and stay there"},
        {"res:/\nmon:hybridmem.7.22\n", "in resctrl's monitoring group hybridmem.7.22, and stay there"},
        {"res:a mon:b\nmon:\n", "in resctrl's control group a mon:b, and stay there"},
        {"x\nmon:\nres:batch", "in resctrl's control group batch, and stay there"},
        {"xres:/\nmon:\n", "is of another form"},
        {"res:/ mon:\n", "is of another form"},
        {"res:/\n", "is of another form"},
        {"", "is of another form"},
        {NULL, "are not known: /proc/self/cpu_resctrl_groups: No such file"},
    };
    (void)state;
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {0};
        own_groups = rows[i].groups;
        assert_int_equal(hm_mongroup_enter(&config, 7, &job.mongroup, &error), -1);
        assert_non_null(strstr(error.text, rows[i].said));
        assert_string_equal(tasks(), "");
    }
}

/* If a task is outside the group, it runs, but there is no figure for the job. The first task's reason is kept. */
static void test_a_task_outside_spoils_the_figure(void **state)
{
    static struct hm_step step;
    static struct hm_job seen;
    struct hm_outcome *outcome = hm_outcome_map();
    (void)state;
    assert_non_null(outcome);
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    step = (struct hm_step){.config = config, .job_id = 7, .mongroup = job.mongroup};
    hm_task_join(&step, outcome);
    assert_int_equal(hm_ledger_read(&config, 7, &seen, NULL), 0);
    assert_true(hm_mongroup_is_whole(&seen.mongroup));
    own_groups = "res:batch\nmon:\n";
    hm_task_join(&step, outcome);
    own_groups = NULL;
    hm_task_join(&step, outcome); /* another task has said a reason already */
    assert_int_equal(hm_task_ended(&step, outcome, 0, NULL), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &seen, NULL), 0);
    assert_string_equal(seen.mongroup.why, "its tasks are in resctrl's control group batch, and stay there");
    assert_false(is_there(GROUP)); /* also if slurmstepd dies before the task has ended, there is no figure */
    hm_outcome_unmap(outcome);
}

static void test_a_step_without_a_group_enters_none(void **state)
{
    static struct hm_step step;
    static struct hm_job seen;
    (void)state;
    own_groups = NULL; /* if the task tried to enter a group, it would report that its groups are not known */
    step = (struct hm_step){.config = config, .job_id = 7};
    hm_task_join(&step, NULL);
    step.mongroup = (struct hm_mongroup){.is_begun = true, .restart = 2, .why = "no ids"};
    hm_task_join(&step, NULL);
    assert_int_equal(hm_ledger_read(&config, 7, &seen, NULL), 0);
    assert_string_equal(seen.mongroup.why, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_no_group_where_none_is_wanted, mongroup_set_up),
        cmocka_unit_test_setup(test_no_group_without_monitoring, mongroup_set_up),
        cmocka_unit_test_setup(test_no_group_where_users_reach_the_folder, mongroup_set_up),
        cmocka_unit_test_setup(test_a_group_that_cannot_be_made, mongroup_set_up),
        cmocka_unit_test_setup(test_no_group_after_the_first_step, mongroup_set_up),
        cmocka_unit_test_setup(test_a_group_is_made_once_and_removed, mongroup_set_up),
        cmocka_unit_test_setup(test_tasks_enter, mongroup_set_up),
        cmocka_unit_test_setup(test_tasks_of_a_sites_groups_stay_there, mongroup_set_up),
        cmocka_unit_test_setup(test_a_task_outside_spoils_the_figure, mongroup_set_up),
        cmocka_unit_test_setup(test_a_step_without_a_group_enters_none, mongroup_set_up),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
