/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests a job's monitoring group on a folder tree in resctrl's form, in which a group's files come and go with its
 * folder, as in the kernel.
 */
#include <errno.h>
#include <fcntl.h>
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
#include "freshledger.h"
#include "job/node/mongroup.h"
#include "job/step/task.h"
#include "slurm/stepname.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define FEATURES "resctrl/info/L3_MON/mon_features"
#define GROUP "resctrl/mon_groups/hybridmem.7.2"
#define SECOND 1000000000

static struct hm_config config;
static struct hm_job job;
static int mkdir_fails;
static const char *own_groups; /* the kernel's text about the calling process's groups; NULL: there is none */

int __real_mkdirat(int folder, const char *path, mode_t mode);
int __wrap_mkdirat(int folder, const char *path, mode_t mode);
int __real_unlinkat(int folder, const char *path, int flags);
int __wrap_unlinkat(int folder, const char *path, int flags);
int __real_hm_file_read(const char *path, char *out, size_t size, struct hm_error *error);
int __wrap_hm_file_read(const char *path, char *out, size_t size, struct hm_error *error);

static bool is_group(const char *path)
{
    return strncmp(path, "hybridmem.", 10) == 0;
}

int __wrap_mkdirat(int folder, const char *path, mode_t mode)
{
    static struct hm_job seen;
    if (!is_group(path))
        return __real_mkdirat(folder, path, mode);
    /* After a crash from here on, the ledger says whose group it is. */
    assert_int_equal(hm_ledger_read(&config, 7, &seen, NULL), 0);
    assert_true(seen.mongroup.is_begun && seen.mongroup.restart == 2);
    errno = mkdir_fails;
    if (mkdir_fails)
        return -1;
    if (__real_mkdirat(folder, path, mode) != 0)
        return -1;
    scratch_write(scratch_path("resctrl/mon_groups/%s/tasks", path), "");
    return 0;
}

/* As in the kernel, a group is removed with the files in it. A group that does not exist cannot be removed. */
int __wrap_unlinkat(int folder, const char *path, int flags)
{
    if (!(flags & AT_REMOVEDIR))
        return __real_unlinkat(folder, path, flags);
    if (faccessat(folder, path, F_OK, 0) != 0)
        return -1;
    return scratch_remove(scratch_path("resctrl/mon_groups/%s", path));
}

int __wrap_hm_file_read(const char *path, char *out, size_t size, struct hm_error *error)
{
    if (strcmp(path, "/proc/self/cpu_resctrl_groups") != 0)
        return __real_hm_file_read(path, out, size, error);
    if (!own_groups)
        return hm_fail(error, ENOENT, "no such file");
    hm_text_copy(out, own_groups, size);
    return 0;
}

static void make_folder(const char *path)
{
    assert_int_equal(__real_mkdirat(AT_FDCWD, scratch_path("%s", path), 0755), 0);
}

static bool is_there(const char *path)
{
    return access(scratch_path("%s", path), F_OK) == 0;
}

static unsigned mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(scratch_path("%s", path), &status), 0);
    return status.st_mode & 07777;
}

static int set_up(void **state)
{
    static const char *const folders[] = {"resctrl", "resctrl/info", "resctrl/info/L3_MON", "resctrl/mon_groups"};
    (void)state;
    ledger_with_job(&config, &job);
    job.restart = 2;
    scratch_remove(scratch_path("resctrl"));
    for (size_t i = 0; i < N_ROWS(folders); i++)
        make_folder(folders[i]);
    scratch_write(scratch_path(FEATURES), "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n");
    config.resctrl = true;
    snprintf(config.resctrl_dir, sizeof(config.resctrl_dir), "%s/resctrl", scratch);
    hm_mongroup_shut(&config);
    mkdir_fails = 0;
    own_groups = "res:/\nmon:\n";
    return 0;
}

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

/* The kernel locks a folder while somebody lists it, and a user can make that take for ever (base/files.h). A step that
 * makes a group would wait for it, and would hold the ledger's lock meanwhile. */
static void test_no_group_where_users_can_list_the_folder(void **state)
{
    struct hm_error error = {0};
    (void)state;
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    assert_int_equal(chmod(scratch_path("resctrl/mon_groups"), 0755), 0);
    assert_int_equal(hm_mongroup_remove(&config, 7, &job.mongroup, &error), -1);
    hm_mongroup_reap(&config);
    assert_true(is_there(GROUP));
    job.mongroup = (struct hm_mongroup){0};
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    assert_non_null(strstr(job.mongroup.why, "no resctrl group: users may list the folder mon_groups"));
    hm_mongroup_shut(&config);
    assert_int_equal(mode_of("resctrl/mon_groups"), 0711);
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
        assert_int_equal(hm_mongroup_remove(&config, 7, &job.mongroup, &error), 0);
        assert_false(is_there(GROUP));
    }
    assert_true(is_there("resctrl/mon_groups"));
}

/* It is not known which tasks are in a group that a crash has left, and whose traffic it has counted. */
static void test_a_group_that_a_crash_has_left_is_made_anew(void **state)
{
    (void)state;
    make_folder(GROUP);
    scratch_write(scratch_path(GROUP "/left"), "");
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    assert_true(hm_mongroup_is_whole(&job.mongroup));
    assert_true(is_there(GROUP "/tasks"));
    assert_false(is_there(GROUP "/left"));
    assert_int_equal(mode_of(GROUP), 0700);
}

static const char *tasks(void)
{
    static char text[32];
    assert_int_equal(__real_hm_file_read(scratch_path(GROUP "/tasks"), text, sizeof(text), NULL), 0);
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
    hm_task_join(&step, outcome); /* this step has reported a reason already */
    hm_task_join(&step, NULL);    /* an earlier step has reported a reason */
    assert_int_equal(hm_ledger_read(&config, 7, &seen, NULL), 0);
    assert_string_equal(seen.mongroup.why, "its tasks are in resctrl's control group batch, and stay there");
    assert_true(is_there(GROUP)); /* the epilog removes it */
    /* If the reason cannot be written, there must be no figure. */
    assert_int_equal(truncate(scratch_path("run/jobs/7"), 10), 0);
    hm_task_join(&step, NULL);
    assert_false(is_there(GROUP));
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

/*
 * A reap removes only groups whose names have exactly hybridmem's form. A group that the ledger has stays. So does a
 * group of a job whose entry cannot be read.
 */
static void test_reap(void **state)
{
    static const char *const stay[] = {"hybridmem.7.2",  "hybridmem.8.0",  "pqos",           "hybridmem",
                                       "hybridmem.",     "hybridmem.9",    "hybridmem.9.0.", "hybridmem.9.0x",
                                       "hybridmem.09.0", "hybridmem.-9.0", "hybridmem. 9.0", "hybridmem.4294967296.0",
                                       "hybridmem.9.+0", "xhybridmem.9.0", "Hybridmem.9.0"};
    static const char *const go[] = {"hybridmem.9.0", "hybridmem.7.1", "hybridmem.7.3", "hybridmem.4294967295.0"};
    (void)state;
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    scratch_write(scratch_path("run/jobs/8"), "torn");
    for (size_t i = 1; i < N_ROWS(stay); i++)
        assert_int_equal(mkdir(scratch_path("resctrl/mon_groups/%s", stay[i]), 0755), 0);
    for (size_t i = 0; i < N_ROWS(go); i++)
        assert_int_equal(mkdir(scratch_path("resctrl/mon_groups/%s", go[i]), 0755), 0);
    config.resctrl = false; /* groups from a time when resctrl was on are removed, too */
    hm_mongroup_reap(&config);
    for (size_t i = 0; i < N_ROWS(stay); i++)
        assert_int_equal(access(scratch_path("resctrl/mon_groups/%s", stay[i]), F_OK), 0);
    for (size_t i = 0; i < N_ROWS(go); i++)
        assert_int_equal(access(scratch_path("resctrl/mon_groups/%s", go[i]), F_OK), -1);
    /* The entry says that there is no group, so a group of that name is nobody's. */
    job.mongroup.is_begun = false;
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    hm_mongroup_reap(&config);
    assert_false(is_there(GROUP));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_no_group_where_none_is_wanted, set_up),
        cmocka_unit_test_setup(test_no_group_without_monitoring, set_up),
        cmocka_unit_test_setup(test_no_group_where_users_can_list_the_folder, set_up),
        cmocka_unit_test_setup(test_a_group_that_cannot_be_made, set_up),
        cmocka_unit_test_setup(test_no_group_after_the_first_step, set_up),
        cmocka_unit_test_setup(test_a_group_is_made_once_and_removed, set_up),
        cmocka_unit_test_setup(test_a_group_that_a_crash_has_left_is_made_anew, set_up),
        cmocka_unit_test_setup(test_tasks_enter, set_up),
        cmocka_unit_test_setup(test_tasks_of_a_sites_groups_stay_there, set_up),
        cmocka_unit_test_setup(test_a_task_outside_spoils_the_figure, set_up),
        cmocka_unit_test_setup(test_a_step_without_a_group_enters_none, set_up),
        cmocka_unit_test_setup(test_reap, set_up),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
