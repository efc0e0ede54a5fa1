/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which processes a reap ends as monitors of no job, and that no user can make it hold the lock for longer. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process.h"
#include "base/spawn.h"
#include "job/programs/monitor.h"
#include "reapfixture.h"
#include "unit/lib/scratch.h"

/* Makes the program of monitors: a copy of sleep. */
static void make_monitor(void)
{
    char cp[] = "cp", from[] = "/bin/sleep", program[256];
    snprintf(program, sizeof(program), "%s", hm_monitor_program());
    char *copy[] = {cp, from, program, NULL}, *none[] = {NULL};
    const struct hm_spawn spawn = {
        .path = "/bin/cp", .arguments = copy, .environment = none, .extra = -1, .errors = -1};
    assert_int_equal(hm_spawn_wait_for(hm_spawn_start(&spawn, NULL), 60000), 0);
}

static pid_t start_made_monitor(void)
{
    char program[256], seconds[] = "1000";
    snprintf(program, sizeof(program), "%s", hm_monitor_program());
    char *arguments[] = {program, seconds, NULL}, *none[] = {NULL};
    const struct hm_spawn spawn = {
        .path = program, .arguments = arguments, .environment = none, .extra = -1, .errors = -1};
    pid_t pid = hm_spawn_start(&spawn, NULL);
    assert_true(pid > 0);
    return pid;
}

static pid_t start_monitor(void)
{
    make_monitor();
    return start_made_monitor();
}

/* A monitor that no entry names is ended, but not while a step may be about to name it. */
static void a_monitor_that_is_just_started_stays(void **state)
{
    (void)state;
    int status;
    pid_t monitor = start_monitor();
    assert_int_equal(hm_process_identify(getpid(), &job.monitor_starter), 0);
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    reap("n9", true);
    assert_int_equal(waitpid(monitor, &status, WNOHANG), 0);
    job.monitor_starter.start_time++; /* that step has died */
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    reap("n9", true);
    assert_int_equal(waitpid(monitor, &status, 0), monitor);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static int execute_monitor(void *data)
{
    execl(data, data, "1000", NULL);
    return 1;
}

/*
 * A user's own process is left alone, whatever it runs: ending it would take time, and one reap ends only a limited
 * number of processes, so that a real monitor might be left.
 */
static void a_users_process_is_no_monitor(void **state)
{
    (void)state;
    int status;
    char program[256], link[64], path[64];
    pid_t monitor = start_monitor();
    snprintf(program, sizeof(program), "%s", hm_monitor_program());
    if (geteuid() == 0) { /* a process of root's would be taken for a monitor */
        const struct hm_spawn_call call = {
            .run = execute_monitor, .data = program, .kept = -1, .drop = true, .uid = 4242, .gid = 4242};
        kill(monitor, SIGKILL);
        assert_int_equal(waitpid(monitor, &status, 0), monitor);
        assert_int_equal(chmod(scratch, 0711), 0);
        assert_int_equal(chmod(program, 0755), 0);
        monitor = hm_spawn_call(&call, NULL);
        assert_true(monitor > 0);
    }
    monitors = 4243;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)monitor);
    do
        memset(link, 0, sizeof(link));
    while (readlink(path, link, sizeof(link) - 1) > 0 && strncmp(link, program, strlen(program)) != 0);
    reap("n9", true);
    assert_int_equal(waitpid(monitor, &status, WNOHANG), 0);
    kill(monitor, SIGKILL);
    assert_int_equal(waitpid(monitor, &status, 0), monitor);
}

/* How often a reap reads entries while `n` processes look like monitors. */
static int reads_beside(int n)
{
    pid_t monitor[8];
    int status;
    for (int i = 0; i < n; i++)
        monitor[i] = start_made_monitor();
    n_reads = 0;
    reap("n9", true);
    int reads = n_reads;
    for (int i = 0; i < n; i++) {
        kill(monitor[i], SIGKILL);
        assert_int_equal(waitpid(monitor[i], &status, 0), monitor[i]);
    }
    return reads;
}

/* Entries are read with the lock. A user can start any number of such processes, and others wait for the lock. */
static void processes_of_users_do_not_prolong_the_lock(void **state)
{
    (void)state;
    make_monitor();
    assert_int_equal(reads_beside(8), reads_beside(1));
}

/* The files that a user's many steps leave do not prolong the time with the lock either. */
static void files_of_many_steps_do_not_prolong_the_lock(void **state)
{
    (void)state;
    n_reads = 0;
    reap("n9", true);
    int before = n_reads;
    for (int step = 0; step < 8; step++)
        scratch_write(scratch_path("run/jobs/7.%d.migration", step), "");
    n_reads = 0;
    reap("n9", true);
    assert_int_equal(n_reads, before);
    assert_int_equal(access(scratch_path("run/jobs/7.0.migration"), F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_monitor_that_is_just_started_stays, reap_set_up),
        cmocka_unit_test_setup(a_users_process_is_no_monitor, reap_set_up),
        cmocka_unit_test_setup(processes_of_users_do_not_prolong_the_lock, reap_set_up),
        cmocka_unit_test_setup(files_of_many_steps_do_not_prolong_the_lock, reap_set_up),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
