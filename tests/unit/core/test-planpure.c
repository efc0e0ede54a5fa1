/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that planning makes no system call. The planner runs in a process that the kernel kills at its first system
 * call other than exit(2). */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "unit/lib/machines.h"
#include "unit/lib/planrow.h"
#include "unit/lib/rows.h"

#define NOT_CONFINED 3 /* exit status of a child that the kernel does not confine */

/* Lets a process call exit(2), and ends it at any other system call. */
static struct sock_filter only_exit[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

/* Runs `call` in a child that may make no system call except exit(2). Returns the child's wait status. */
static int status_of_confined(void (*call)(struct work *work), struct work *work)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        const struct sock_fprog program = {N_ROWS(only_exit), only_exit};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
            _exit(NOT_CONFINED);
        call(work);
        syscall(SYS_exit, 0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_CONFINED)
        fail_msg("nothing can be tested: this kernel does not confine a process (seccomp, SECCOMP_MODE_FILTER)");
    return status;
}

static void plan(struct work *work)
{
    (void)hm_plan_resolve(&work->request, &work->tiers, &work->config, &work->abilities, &work->where, &work->plan,
                          &work->error);
}

static void ask_the_system(struct work *work)
{
    (void)work;
    char byte;
    (void)read(-1, &byte, 1);
}

/* The key without which the mode is refused. */
static const char *wanted_key(const struct hm_mode_row *mode)
{
    return mode->keys & HM_KEYS_FSDAX ? ",size=1G" : "";
}

static void check(struct work *work, const char *shape, const struct hm_mode_row *mode)
{
    char request[40];
    snprintf(request, sizeof(request), "%s%s", mode->name, wanted_key(mode));
    const struct row row = {.shape = shape, .request = request, .cpus = "0", .kernel = "6.12"};
    (void)planrow_resolve(work, &row); /* prepares `work`; other tests check its result */
    int status = status_of_confined(plan, work);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s on %s: the planner made a system call", request, shape);
}

static void test_no_mode_makes_a_system_call(void **state)
{
    static const char *const shapes[] = {"optane", "hbm", "cxl", "three", "one", "unknown"};
    struct work *work = *state;
    for (int mode = 0; mode < HM_MODES; mode++)
        for (size_t i = 0; i < N_ROWS(shapes); i++)
            check(work, shapes[i], hm_mode_at(mode));
}

/* Without this, the test above would pass on a kernel that kills nobody. */
static void test_a_system_call_is_noticed(void **state)
{
    int status = status_of_confined(ask_the_system, *state);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

static int make_work(void **state)
{
    *state = calloc(1, sizeof(struct work));
    return *state ? 0 : -1;
}

static int free_work(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_mode_makes_a_system_call),
        cmocka_unit_test(test_a_system_call_is_noticed),
    };
    return cmocka_run_group_tests(tests, make_work, free_work);
}
