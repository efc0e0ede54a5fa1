/* SPDX-License-Identifier: Apache-2.0 */
#include "steadyfixture.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/lib/scratch.h"

pid_t steady_pids[STEADY_PIDS];

pid_t steady_fork(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    return pid;
}

int steady_fork_all(void **state)
{
    steady_pids[0] = getpid();
    for (int i = 1; i < STEADY_PIDS; i++) {
        steady_pids[i] = steady_fork();
        if (steady_pids[i] < 0)
            return -1;
    }
    return scratch_make(state);
}

int steady_end_all(void **state)
{
    for (int i = 1; i < STEADY_PIDS; i++) {
        kill(steady_pids[i], SIGKILL);
        waitpid(steady_pids[i], NULL, 0);
    }
    return scratch_drop(state);
}

void steady_watch(uint32_t n)
{
    lease_hear_all();
    assert_int_equal(lease_watch(steady_pids, n).number, 0);
    assert_int_equal(lease.n, n);
}

bool steady_is_on(unsigned k)
{
    return strcmp(kernel_text(k == 0 ? "0/state" : "1/state"), "on") == 0;
}

void steady_look(uint32_t accesses)
{
    kernel.lists = (UINT32_C(1) << lease.n) - 1;
    kernel.accesses = accesses;
    lease_work_after(0);
    lease_work_after(SECOND_NS);
    kernel.lists = 0;
}
