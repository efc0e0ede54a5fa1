/* SPDX-License-Identifier: Apache-2.0 */
/* Who lives: jobs by their cgroups, processes by their numbers and when they began; and how they are ended. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "job/ledger/living.h"
#include "unit/lib/scratch.h"

static struct hm_error error;

/* A cgroup as the kernel shows it. */
static void set_cgroup(struct hm_job *of, const char *populated)
{
    char events[64];
    snprintf(of->cgroup, sizeof(of->cgroup), "%s/cgroup", scratch);
    mkdir(of->cgroup, 0755);
    snprintf(events, sizeof(events), "populated %s\nfrozen 0\n", populated);
    scratch_write(scratch_path("cgroup/cgroup.events"), events);
}

static void test_who_lives(void **state)
{
    (void)state;
    static struct hm_job job;
    hm_job_init(&job, 7);
    assert_true(hm_job_is_living(&job)); /* no step yet */
    set_cgroup(&job, "1");
    assert_true(hm_job_is_living(&job));
    set_cgroup(&job, "0");
    assert_false(hm_job_is_living(&job));
    set_cgroup(&job, "1");
    snprintf(job.boot_id, sizeof(job.boot_id), "another boot");
    assert_false(hm_job_is_living(&job));
    hm_job_init(&job, 7);
    snprintf(job.cgroup, sizeof(job.cgroup), "%s/removed", scratch);
    assert_false(hm_job_is_living(&job));
}

/* Runs until SIGTERM: then it closes `holds`. With SIGTERM blocked: until `waits` is closed by all others. */
static struct hm_process start_one(bool obeys, int waits, int holds)
{
    struct hm_process process = {0};
    char byte;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t term;
        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        sigprocmask(obeys ? SIG_UNBLOCK : SIG_BLOCK, &term, NULL);
        close(obeys ? waits : holds);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        if (!obeys)
            _exit(read(waits, &byte, 1) == 0 ? 42 : 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    assert_int_equal(hm_process_identify(pid, &process), 0);
    return process;
}

#define FOREVER_MS 3600000 /* the test would not end */

static void test_processes_are_told_apart(void **state)
{
    (void)state;
    struct hm_process process = {0};
    int held[2], status;
    assert_false(hm_process_is_running(&process));
    assert_int_equal(hm_process_stop(&process, FOREVER_MS, &error), 0); /* nobody is waited for */
    assert_int_equal(hm_process_identify(-1, &process), -1);
    assert_int_equal(hm_process_identify(getpid(), &process), 0);
    assert_true(hm_process_is_running(&process));
    process.start_time++;
    assert_false(hm_process_is_running(&process));
    assert_int_equal(hm_process_stop(&process, FOREVER_MS, &error), 0); /* not ours: we live on */

    assert_int_equal(pipe(held), 0);
    process = start_one(false, held[0], held[1]); /* only SIGKILL ends it: the other end stays open */
    assert_int_equal(hm_process_stop(&process, 100, &error), 0);
    assert_false(hm_process_is_running(&process)); /* a zombie does not run */
    assert_int_equal(waitpid(process.pid, &status, 0), process.pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(held[0]);
    close(held[1]);
}

/* The first ends only when the second has: it would be killed if the second were told after the first had ended. */
static void test_all_are_told_before_one_is_waited_for(void **state)
{
    (void)state;
    int held[2], status;
    struct hm_process process[HM_STOP_MOST + 1] = {{0}};
    assert_int_equal(hm_process_stop_all(process, HM_STOP_MOST + 1, 0, &error), -1);
    assert_int_equal(errno, E2BIG);
    assert_int_equal(hm_process_stop_all(process, HM_STOP_MOST, FOREVER_MS, &error), 0);
    assert_int_equal(hm_process_stop_all(process, 0, FOREVER_MS, &error), 0);
    assert_int_equal(pipe(held), 0);
    process[1] = start_one(false, held[0], held[1]);
    process[3] = start_one(true, held[0], held[1]);
    close(held[0]);
    close(held[1]);
    assert_int_equal(hm_process_stop_all(process, 4, 30000, &error), 0);
    assert_int_equal(waitpid(process[1].pid, &status, 0), process[1].pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    assert_int_equal(waitpid(process[3].pid, &status, 0), process[3].pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void test_cgroup_of_a_job(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"/sys/fs/cgroup", NULL},
        {"/step_0", NULL},
        {"", NULL},
        {"/sys/fs/cgroup/slurmstepd.scope/job_5/step_0/slurm", "/sys/fs/cgroup/slurmstepd.scope/job_5"},
        {"/c/n1_slurmstepd.scope/job_5/step_batch/user/task_0", "/c/n1_slurmstepd.scope/job_5"},
        {"/c/step_up.scope/s4GJ0/step_extern/slurm", "/c/step_up.scope/s4GJ0"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s", rows[i][0]);
        assert_int_equal(hm_cgroup_cut_to_job(path), rows[i][1] ? 0 : -1);
        assert_string_equal(path, rows[i][1] ? rows[i][1] : rows[i][0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_lives),
        cmocka_unit_test(test_processes_are_told_apart),
        cmocka_unit_test(test_all_are_told_before_one_is_waited_for),
        cmocka_unit_test(test_cgroup_of_a_job),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
