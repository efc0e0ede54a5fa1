/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how processes are identified by pid and start time, and how they are ended. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process.h"
#include "unit/lib/rows.h"

static struct hm_error error;

/* Start a process. `waits` and `holds` are the ends of a pipe, for reading and for writing. If the process `obeys`,
 * SIGTERM ends it, which closes its `holds`. Otherwise SIGTERM is blocked, and the process reads from `waits` until no
 * process has `holds` open. */
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

#define FOREVER_MS 3600000 /* longer than the test may take */

static void test_processes_are_told_apart(void **state)
{
    (void)state;
    struct hm_process process = {0};
    int held[2], status;
    assert_false(hm_process_is_running(&process));
    assert_int_equal(hm_process_stop(&process, FOREVER_MS, &error), 0); /* returns without waiting */
    assert_int_equal(hm_process_identify(-1, &process), -1);
    assert_int_equal(hm_process_identify(getpid(), &process), 0);
    assert_true(hm_process_is_running(&process));
    process.start_time++;
    assert_false(hm_process_is_running(&process));
    /* another start time: this process is not killed */
    assert_int_equal(hm_process_stop(&process, FOREVER_MS, &error), 0);

    assert_int_equal(pipe(held), 0);
    process = start_one(false, held[0], held[1]); /* only SIGKILL ends it, as the other end stays open */
    assert_int_equal(hm_process_stop(&process, 100, &error), 0);
    assert_false(hm_process_is_running(&process)); /* a zombie does not run */
    assert_int_equal(waitpid(process.pid, &status, 0), process.pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(held[0]);
    close(held[1]);
}

/* The first process ends only after the second one. If the second got its signal only after the first had ended, the
 * first would have to be killed. */
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

static void test_stat(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "1 (a",
        "1 (a) S 1 2 3",
        "1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 ",
        "1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 -5 20",
        "1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 99999999999999999999 20",
        "1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 12x 20",
    };
    static const char *const good[] = {
        "1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20\n",
        "1 (a b) S 1) (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20\n",
        "1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242",
    };
    char kind;
    uint64_t start;
    for (size_t i = 0; i < N_ROWS(bad); i++)
        if (hm_process_parse_stat(bad[i], &kind, &start) != -1)
            fail_msg("\"%s\" was taken", bad[i]);
    for (size_t i = 0; i < N_ROWS(good); i++) {
        kind = '?';
        assert_int_equal(hm_process_parse_stat(good[i], &kind, &start), 0);
        assert_int_equal(start, 4242);
        assert_int_equal(kind, 'S');
    }
}

#define STAT_OF(flags) "1 (a b) S 1) (c) D 1 2 3 4 5 " flags " 7 8 9 10 11 12 13 14 15 16 17 18 4242 20\n"
#define STATUS_OF(own, shared)                                                                                         \
    "Name:\ta\nSigQ:\t9/9\nSigPnd:\t" own "\nShdPnd:\t" shared "\nSigBlk:\t0000000000000100\n"
#define NONE "0000000000000000"
#define KILL "0000000000000100"

static void test_what_was_killed_is_told_though_the_kernel_holds_it(void **state)
{
    static const struct {
        const char *stat, *status;
        bool is_ending;
    } rows[] = {
        {STAT_OF("4194560"), STATUS_OF(NONE, NONE), false},
        {STAT_OF("4194560"), STATUS_OF(KILL, "0000000000002000"), true}, /* by its alarm */
        {STAT_OF("4194560"), STATUS_OF(NONE, KILL), true},
        {STAT_OF("4194560"), STATUS_OF("0000000000004200", "fffffffe00000000"), false},
        {STAT_OF("4194564"), STATUS_OF(NONE, NONE), true},
        {STAT_OF("4"), "", true},
        {"", "", false},
        {"1 (a) D 1 2", "Name:\ta\nSigPnd:", false},
        /* Numbers that are cut, of 4194560 and of SIGCHLD: a status is long where there are many groups. */
        {"1 (a) D 1 2 3 4 5 4", "", false},
        {STAT_OF("4194560"), "Name:\ta\nSigPnd:\t00000000000100", false},
    };
    struct hm_process self = {0};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++)
        if (hm_process_parse_ending(rows[i].stat, rows[i].status) != rows[i].is_ending)
            fail_msg("row %zu", i);
    assert_false(hm_process_is_ending(&self));
    assert_int_equal(hm_process_identify(getpid(), &self), 0);
    assert_false(hm_process_is_ending(&self));
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGSTOP);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
    assert_int_equal(hm_process_identify(pid, &self), 0);
    assert_false(hm_process_is_ending(&self));
    assert_false(hm_process_wait(&self, 0));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_true(hm_process_wait(&self, FOREVER_MS));
    assert_false(hm_process_is_ending(&self)); /* it has ended */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(hm_process_wait(&self, FOREVER_MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_killed_is_told_though_the_kernel_holds_it),
        cmocka_unit_test(test_stat),
        cmocka_unit_test(test_processes_are_told_apart),
        cmocka_unit_test(test_all_are_told_before_one_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
