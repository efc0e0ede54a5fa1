/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which scheduling policy a thread has while it holds a lock of the node's, and after. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "job/ledger/urgent.h"
#include "unit/lib/rows.h"

#define URGENT (SCHED_RR | SCHED_RESET_ON_FORK)

/* The functions below stand for the kernel's. `refused`: what they refuse to set; CLEARING: a policy without
 * SCHED_RESET_ON_FORK. */
static int policy; /* scheduling policy of this thread; -1: it cannot be read */
static int n_set;  /* how often it was to be set */
static enum { NOTHING, REAL_TIME, CLEARING } refused;
static bool is_real; /* the machine's own kernel answers */

int __real_sched_getscheduler(pid_t pid);
int __wrap_sched_getscheduler(pid_t pid);
int __real_sched_setscheduler(pid_t pid, int to, const struct sched_param *param);
int __wrap_sched_setscheduler(pid_t pid, int to, const struct sched_param *param);

int __wrap_sched_getscheduler(pid_t pid)
{
    assert_int_equal(pid, 0);
    errno = ENOSYS;
    return is_real ? __real_sched_getscheduler(pid) : policy;
}

int __wrap_sched_setscheduler(pid_t pid, int to, const struct sched_param *param)
{
    assert_int_equal(pid, 0); /* this thread: slurmstepd has others */
    if (is_real)
        return __real_sched_setscheduler(pid, to, param);
    assert_int_equal(param->sched_priority, to == URGENT);
    n_set++;
    errno = EPERM;
    if ((refused == REAL_TIME && to == URGENT) || (refused == CLEARING && !(to & SCHED_RESET_ON_FORK)))
        return -1;
    policy = to;
    return 0;
}

static void test_the_policy_comes_back(void **state)
{
    static const struct {
        int before, refused, meanwhile, after, n_set;
    } rows[] = {
        {SCHED_OTHER, NOTHING, URGENT, SCHED_OTHER, 2},
        {SCHED_BATCH, NOTHING, URGENT, SCHED_BATCH, 2},
        {SCHED_IDLE | SCHED_RESET_ON_FORK, NOTHING, URGENT, SCHED_IDLE | SCHED_RESET_ON_FORK, 2},
        {SCHED_OTHER, REAL_TIME, SCHED_OTHER, SCHED_OTHER, 1},                 /* nothing is to be put back */
        {SCHED_BATCH, CLEARING, URGENT, SCHED_BATCH | SCHED_RESET_ON_FORK, 3}, /* without CAP_SYS_NICE */
        {SCHED_FIFO, NOTHING, SCHED_FIFO, SCHED_FIFO, 0},                      /* the site's own choice */
        {SCHED_RR | SCHED_RESET_ON_FORK, NOTHING, SCHED_RR | SCHED_RESET_ON_FORK, SCHED_RR | SCHED_RESET_ON_FORK, 0},
        {SCHED_DEADLINE, NOTHING, SCHED_DEADLINE, SCHED_DEADLINE, 0},
        {-1, NOTHING, -1, -1, 0},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        policy = rows[i].before;
        refused = rows[i].refused;
        n_set = 0;
        hm_urgent_begin();
        if (policy != rows[i].meanwhile)
            fail_msg("row %zu: %d", i, policy);
        hm_urgent_end();
        hm_urgent_end(); /* does nothing */
        if (policy != rows[i].after || n_set != rows[i].n_set)
            fail_msg("row %zu: %d, set %d times", i, policy, n_set);
    }
}

/* Skipped where the machine lets nobody have a real-time policy. */
static void test_the_kernel_keeps_the_nice_value_and_the_children_ordinary(void **state)
{
    int status;
    (void)state;
    is_real = true;
    int nice = getpriority(PRIO_PROCESS, 0), before = __real_sched_getscheduler(0);
    assert_int_equal(setpriority(PRIO_PROCESS, 0, nice + 1), 0);
    hm_urgent_begin();
    bool is_urgent = __real_sched_getscheduler(0) == URGENT;
    pid_t child = fork();
    if (child == 0)
        _exit(__real_sched_getscheduler(0) != SCHED_OTHER);
    assert_int_equal(waitpid(child, &status, 0), child);
    hm_urgent_end();
    is_real = false;
    if (!is_urgent)
        skip();
    assert_int_equal(status, 0);
    assert_int_equal(__real_sched_getscheduler(0), before);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), nice + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_policy_comes_back),
        cmocka_unit_test(test_the_kernel_keeps_the_nice_value_and_the_children_ordinary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
