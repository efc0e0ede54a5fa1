/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the lock that is held over fork: whose it is in handlers of signals, in forks and in children. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc/forklock.h"

static struct hm_forklock lock;
static int counted;

static void begin_fork(void)
{
    hm_forklock_begin_fork(&lock);
}

static bool was_whole;

static void end_fork(void)
{
    was_whole = hm_forklock_end_fork(&lock);
}

static void end_fork_in_child(void)
{
    was_whole = hm_forklock_end_fork_in_child(&lock);
}

/* Forks, and returns the exit status of a child that takes and gives the lock: 0 where it could, plus 2 where what it
 * guards was not whole. */
static int fork_child(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        bool has = hm_forklock_take(&lock);
        if (has)
            hm_forklock_give(&lock);
        _exit((has ? 0 : 1) + (was_whole ? 0 : 2));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void *count(void *unused)
{
    for (int i = 0; i < 20000; i++) {
        if (!hm_forklock_take(&lock))
            return &lock;
        counted++;
        hm_forklock_give(&lock);
    }
    return unused;
}

static void test_one_thread_has_it(void **state)
{
    pthread_t thread[4];
    void *failed;
    (void)state;
    counted = 0;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, count, NULL), 0);
    for (int i = 0; i < 20; i++) /* each child finds it free, whoever has it meanwhile */
        assert_int_equal(fork_child(), 0);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(thread[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(counted, 4 * 20000);
}

static int status_in_handler;
static bool has_in_handler;

static void fork_in_handler(int unused)
{
    (void)unused;
    has_in_handler = hm_forklock_take(&lock);
    status_in_handler = fork_child();
    assert_false(was_whole); /* in the parent, too */
}

static void test_a_handler_that_interrupts_its_use(void **state)
{
    (void)state;
    signal(SIGUSR1, fork_in_handler);
    errno = 5;
    assert_true(hm_forklock_take(&lock));
    raise(SIGUSR1);
    assert_false(has_in_handler);
    assert_int_equal(status_in_handler, 1 + 2);
    hm_forklock_give(&lock);
    assert_int_equal(fork_child(), 0); /* it is as before */
    assert_true(was_whole);
    assert_int_equal(errno, 5);
}

static void test_what_forks_may_take_it_meanwhile(void **state)
{
    (void)state;
    begin_fork();
    begin_fork(); /* a fork in the handlers of a fork */
    assert_true(hm_forklock_take(&lock));
    assert_false(hm_forklock_take(&lock));
    hm_forklock_give(&lock);
    end_fork();
    assert_true(was_whole);
    assert_true(hm_forklock_take(&lock));
    hm_forklock_give(&lock);
    assert_true(lock.word != 0);
    end_fork();
    assert_true(lock.word == 0);
}

/* The handlers may be registered while a thread forks: then there is an end without a beginning. */
static void test_an_end_without_a_beginning(void **state)
{
    (void)state;
    end_fork();
    assert_false(was_whole);
    lock.word = 1000000; /* that of a thread which the child has not */
    end_fork_in_child();
    assert_false(was_whole);
    assert_true(hm_forklock_take(&lock));
    hm_forklock_give(&lock);
}

int main(void)
{
    pthread_atfork(begin_fork, end_fork, end_fork_in_child);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_thread_has_it),
        cmocka_unit_test(test_a_handler_that_interrupts_its_use),
        cmocka_unit_test(test_what_forks_may_take_it_meanwhile),
        cmocka_unit_test(test_an_end_without_a_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
