/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how the figures of a step's migrator are taken, also if the process that takes them is killed. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "job/ledger/figurefile.h"
#include "job/programs/migrator.h"
#include "job/step/step.h"
#include "unit/job/freshledger.h"
#include "unit/lib/scratch.h"

static struct hm_error error;
static struct hm_config config;
static struct hm_job job;

static int set_up(void **state)
{
    (void)state;
    ledger_with_job(&config, &job);
    return 0;
}

static char *path_of(uint32_t job_id, uint32_t step_id)
{
    char name[64];
    return scratch_path("run/jobs/%s", hm_figurefile_name(job_id, step_id, name, sizeof(name)));
}

/* Leaves figures as a migrator of this step does. */
static void leave(uint32_t job_id, uint32_t step_id, enum hm_progress_state how)
{
    int fd = hm_progress_create(path_of(job_id, step_id), step_id, &error);
    assert_true(fd >= 0);
    struct hm_progress *progress = hm_progress_map(fd, &error);
    assert_non_null(progress);
    progress->state = how;
    progress->phases = 3;
    progress->step_id = 99; /* the user can write anything to the file */
    progress->last_ns = UINT64_C(1740823200000000000);
    hm_progress_warn(progress, "said by itself");
    hm_progress_unmap(progress);
    close(fd);
}

static bool has_warning(const char *text)
{
    for (uint32_t i = 0; i < job.n_warnings; i++)
        if (strcmp(job.warning[i], text) == 0)
            return true;
    return false;
}

static int count_files(void)
{
    int count = 0;
    struct dirent *item;
    DIR *names = opendir(scratch_path("run/jobs"));
    assert_non_null(names);
    while ((item = readdir(names)))
        count += strstr(item->d_name, ".migration") != NULL;
    closedir(names);
    return count;
}

static void test_figures_are_taken_once(void **state)
{
    (void)state;
    job.migrator[0] = (struct hm_step_migrator){.step_id = 0, .process = {.pid = 1}};
    job.migrator[1] = (struct hm_step_migrator){.step_id = 1, .process = {.pid = 2}};
    leave(7, 0, HM_PROGRESS_ENDED);
    assert_true(hm_migrator_has_left(&config, 7, 0));
    assert_int_equal(hm_migrator_collect(&config, &job, 0, &error), 0);
    assert_false(hm_migrator_has_left(&config, 7, 0));
    assert_int_equal(hm_migrator_collect(&config, &job, 0, &error), 0);
    assert_int_equal(job.migration.n_steps, 1);
    assert_int_equal(job.migration.step[0].step_id, 0);
    assert_int_equal(job.migration.total.phases, 3);
    assert_int_equal(job.n_warnings, 1);
    assert_true(has_warning("migrator of step 0: said by itself"));
    assert_int_equal(job.migrator[0].process.pid, 0);
    assert_int_equal(job.migrator[1].process.pid, 2);
    /* The entry in the ledger has the figures. */
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_int_equal(job.migration.total.phases, 3);
    assert_false(job.has_taken);
}

static void test_all_that_is_left_is_taken(void **state)
{
    (void)state;
    leave(7, HM_STEP_BATCH, HM_PROGRESS_RUNNING);
    leave(7, 1, HM_PROGRESS_STARTING);
    leave(8, 0, HM_PROGRESS_ENDED);
    scratch_write(path_of(7, 2), "rubbish");
    assert_int_equal(hm_migrator_collect_all(&config, &job, &error), 0);
    assert_int_equal(job.migration.n_steps, 2);
    assert_int_equal(job.migration.n_begun, 1);
    assert_true(has_warning("the migrator of step batch was killed: its last figures are of 2025-03-01T10:00:00Z"));
    assert_true(has_warning("the migrator of step 1 ended before it had begun"));
    assert_int_equal(job.n_warnings, 5);
    assert_int_equal(count_files(), 1);
    leave(7, 5, HM_PROGRESS_ENDED);
    assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
    assert_int_equal(count_files(), 1);
}

/* The process dies before its nth change in the ledger's folder; 0: never. */
static int dies_at;

static void change(void)
{
    if (dies_at > 0 && --dies_at == 0)
        _exit(9);
}

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __real_renameat(int from_folder, const char *from, int to_folder, const char *to);
int __wrap_renameat(int from_folder, const char *from, int to_folder, const char *to);

int __wrap_unlink(const char *path)
{
    change();
    return __real_unlink(path);
}

int __wrap_renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    change();
    return __real_renameat(from_folder, from, to_folder, to);
}

/*
 * Takes the figures of all steps in a process that dies before its nth change. Returns false if it made fewer changes.
 */
static bool collect_and_die(int nth)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dies_at = nth;
        _exit(hm_ledger_read(&config, 7, &job, &error) == 0 && hm_migrator_collect_all(&config, &job, &error) == 0 ? 0
                                                                                                                   : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 9));
    return WEXITSTATUS(status) == 9;
}

static void assert_two_steps(void)
{
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_int_equal(job.migration.n_steps, 2);
    assert_int_equal(job.migration.total.phases, 6);
    assert_int_equal(count_files(), 0);
}

/* Figures are neither lost nor counted twice, wherever the process was killed. A later run of a step has its own. */
static void test_figures_outlive_a_kill(void **state)
{
    int nth = 0;
    bool is_killed;
    do {
        assert_int_equal(set_up(state), 0);
        leave(7, 0, HM_PROGRESS_ENDED);
        leave(7, 1, HM_PROGRESS_ENDED);
        is_killed = collect_and_die(++nth);
        if (is_killed)
            assert_false(collect_and_die(0));
        assert_two_steps();
    } while (is_killed);
    assert_int_equal(nth, 2 * 3 + 1); /* for each step: the entry, the figures' file, the entry again */
    leave(7, 1, HM_PROGRESS_ENDED);
    assert_false(collect_and_die(0));
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_int_equal(job.migration.n_steps, 3);
}

/* The same, if the processes that go on are killed, too. */
static void test_figures_outlive_many_kills(void **state)
{
    (void)state;
    int kills = 0;
    leave(7, 0, HM_PROGRESS_ENDED);
    leave(7, 1, HM_PROGRESS_ENDED);
    while (collect_and_die(3))
        assert_true(++kills < 10);
    assert_int_equal(kills, 3);
    assert_two_steps();
}

/* If the entry cannot be written (a folder is in the place of its draft), the figures' file stays. */
static void test_figures_that_find_no_room(void **state)
{
    (void)state;
    leave(7, 0, HM_PROGRESS_ENDED);
    assert_int_equal(mkdir(scratch_path("run/jobs/7.draft"), 0700), 0);
    assert_int_equal(hm_migrator_collect_all(&config, &job, &error), -1);
    assert_non_null(strstr(error.text, "cannot write the ledger's entry of job 7"));
    assert_int_equal(count_files(), 1);
    assert_int_equal(rmdir(scratch_path("run/jobs/7.draft")), 0);
    assert_false(collect_and_die(0));
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_int_equal(job.migration.n_steps, 1);
}

static void test_a_step_that_ends_without_tasks(void **state)
{
    (void)state;
    struct hm_step *step = calloc(1, sizeof(*step));
    assert_non_null(step);
    step->config = config;
    step->job_id = 7;
    step->step_id = 3;
    assert_int_equal(hm_step_end(step, &error), 0); /* nothing is left */
    leave(7, 3, HM_PROGRESS_ENDED);
    assert_int_equal(hm_step_end(step, &error), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_int_equal(job.migration.n_steps, 1);
    assert_int_equal(count_files(), 0);
    free(step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_figures_are_taken_once, set_up),
        cmocka_unit_test_setup(test_all_that_is_left_is_taken, set_up),
        cmocka_unit_test_setup(test_figures_outlive_a_kill, set_up),
        cmocka_unit_test_setup(test_figures_outlive_many_kills, set_up),
        cmocka_unit_test_setup(test_figures_that_find_no_room, set_up),
        cmocka_unit_test_setup(test_a_step_that_ends_without_tasks, set_up),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
