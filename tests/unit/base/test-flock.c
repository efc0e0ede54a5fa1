/* SPDX-License-Identifier: Apache-2.0 */
/* Tests waiting for a lock of a file that another process may have. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/flock.h"
#include "unit/lib/scratch.h"

static int holder = -1, waiter = -1; /* the file, opened twice: each has locks of its own */

static int set_up(void **state)
{
    (void)state;
    int folder = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    holder = hm_flock_open(folder, "lock");
    waiter = hm_flock_open(folder, "lock");
    close(folder);
    return holder < 0 || waiter < 0;
}

static int tear_down(void **state)
{
    (void)state;
    hm_flock_close(holder);
    hm_flock_close(waiter);
    return 0;
}

static void test_a_wait_has_an_end(void **state)
{
    (void)state;
    assert_int_equal(hm_flock_wait(holder, 0), 0);
    assert_int_equal(hm_flock_wait(waiter, 0), -1);
    assert_int_equal(errno, ETIMEDOUT);
    hm_flock_unlock(holder);
    assert_int_equal(hm_flock_wait(waiter, 0), 0);
    hm_flock_unlock(waiter);
}

/* The lock is the child's alone, once this process has closed its descriptor of the file that was locked. */
static void test_who_waits_gets_the_lock(void **state)
{
    (void)state;
    int status, hold[2];
    assert_int_equal(pipe(hold), 0);
    assert_int_equal(hm_flock_wait(holder, 0), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(hold[1]);
        _exit(read(hold[0], &byte, 1) != 0);
    }
    close(holder);
    holder = -1;
    assert_int_equal(hm_flock_try(waiter), -1);
    assert_int_equal(errno, EWOULDBLOCK);
    close(hold[1]);
    assert_int_equal(hm_flock_wait(waiter, 60000), 0);
    close(hold[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_wait_has_an_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_who_waits_gets_the_lock, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
