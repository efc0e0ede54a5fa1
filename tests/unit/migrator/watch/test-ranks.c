/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which processes a migrator takes for those of its step, and the spaces that they get. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "migrator/watch/ranks.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

DIR *__real_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd);
int __real_fstat(int fd, struct stat *status);
int __wrap_fstat(int fd, struct stat *status);

static unsigned n_listed; /* folders */
static unsigned n_opened; /* processes, as pidfds */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/* The calls that the code under test makes have two arguments. */
long __wrap_syscall(long number, ...)
{
    va_list list;
    va_start(list, number);
    long first = va_arg(list, int), second = va_arg(list, int);
    va_end(list);
    n_opened += number == SYS_pidfd_open;
    return __real_syscall(number, first, second);
}

DIR *__wrap_fdopendir(int fd)
{
    n_listed++;
    return __real_fdopendir(fd);
}

static nlink_t links; /* of each folder; 0: that cannot be found out */

int __wrap_fstat(int fd, struct stat *status)
{
    int result = __real_fstat(fd, status);
    if (result != 0 || !S_ISDIR(status->st_mode))
        return result;
    status->st_nlink = links;
    return links > 0 ? 0 : -1;
}

static void test_inside(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cgroup;
        bool is_inside;
    } rows[] = {
        {"", "/a", false},
        {"0::/\n", "/a", false},
        {"0::/a\n", "/a", true},
        {"0::/a", "/a", true},
        {"0::/a/b/c\n", "/a", true},
        {"0::/a/b/c\n", "/a/b", true},
        {"0::/ab\n", "/a", false},
        {"0::/b/a\n", "/a", false},
        {"0::/a/../b\n", "/a/b", false},
        {"1:cpu:/a\n0::/b\n", "/a", false}, /* cgroup v1 does not count */
        {"12:memory:/x\n0::/a\n", "/a", true},
        {"10::/a\n", "/a", false},
        {"0::/job_1/step_0/user/task_0\n", "/job_1/step_0/user", true},
        {"0::/job_1/step_0/slurm\n", "/job_1/step_0/user", false},
        {"0::/job_11/step_0/user\n", "/job_1", false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++)
        if (hm_ranks_is_inside(rows[i].text, rows[i].cgroup) != rows[i].is_inside)
            fail_msg("row %zu", i);
}

static void test_user(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_user;
    } rows[] = {
        {"", false},
        {"Name:\ta\nUid:\t5\t5\t5\t5\n", true},
        {"Name:\ta\nUid:\t5\t0\t5\t5\n", false}, /* a set-user-id program is not the user's */
        {"Name:\ta\nUid:\t5\t5\t0\t5\n", false},
        {"Name:\ta\nUid:\t55\t55\t55\t55\n", false},
        {"Name:\ta\nUid:\t5\t5\t5\n", false},
        {"Name:\tUid:\t5\t5\t5\t5\nUid:\t6\t6\t6\t6\n", false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++)
        if (hm_ranks_is_user(rows[i].text, 5) != rows[i].is_user)
            fail_msg("row %zu", i);
}

static void test_bad_cgroups(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",         "/",      "/sys/fs/cgroup",          "/sys/fs/cgroup/", "/sys/fs/cgroup/a/",
        "relative", "/tmp/a", "/sys/fs/cgroup/a/../../x"};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_ranks ranks;
        struct hm_error error = {{0}};
        assert_int_equal(hm_ranks_init(&ranks, rows[i], 5, &error), -1);
        assert_int_equal(errno, EINVAL);
        assert_non_null(strstr(error.text, "/sys/fs/cgroup"));
    }
}

static pid_t start_child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* also where the test fails */
        for (;;)
            pause();
    }
    return pid;
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static pid_t start_zombie(void)
{
    siginfo_t ended;
    pid_t pid = start_child();
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
    return pid;
}

/* The number of a process that has ended before the first look may be another one's at the second. */
static void test_one_that_was_never_there(void **state)
{
    (void)state;
    struct hm_ranks ranks;
    pid_t pid[3] = {start_child(), start_child(), start_zombie()};
    end_child(pid[0]);
    assert_int_equal(hm_ranks_init_list(&ranks, pid, 3, getuid(), NULL), 0);
    n_opened = 0;
    assert_int_equal(hm_ranks_update(&ranks, NULL), 1);
    assert_int_equal(n_opened, 3);
    assert_int_equal(hm_ranks_update(&ranks, NULL), 1);
    assert_int_equal(n_opened, 3);
    end_child(pid[1]);
    end_child(pid[2]);
    hm_ranks_free(&ranks);
}

static void test_come_and_go(void **state)
{
    (void)state;
    struct hm_ranks ranks;
    pid_t pid[4] = {start_child(), start_child(), getpid(), 1};
    assert_int_equal(hm_ranks_init_list(&ranks, pid, 4, getuid(), NULL), 0);
    int others = getuid() == 0; /* process 1 is root's */
    assert_int_equal(hm_ranks_update(&ranks, NULL), 2 + others);
    assert_int_equal(ranks.n_lacking, 0);
    int first = hm_ranks_space(&ranks, pid[0]), second = hm_ranks_space(&ranks, pid[1]);
    assert_true(first >= 0 && second >= 0 && first != second);
    assert_int_equal(hm_ranks_space(&ranks, getpid()), -1); /* never the calling process */
    assert_true(ranks.rank[first].is_new);
    assert_true(ranks.rank[first].start_time > 0);
    assert_true(hm_ranks_is_ours(&ranks, (uint32_t)first));
    assert_int_equal(hm_ranks_update(&ranks, NULL), 2 + others);
    assert_false(ranks.rank[first].is_new);
    end_child(pid[0]);
    assert_false(hm_ranks_is_ours(&ranks, (uint32_t)first));
    n_opened = 0;
    assert_int_equal(hm_ranks_update(&ranks, NULL), 1 + others);
    assert_true(ranks.rank[first].is_gone);
    assert_int_equal(hm_ranks_space(&ranks, pid[0]), -1);
    assert_int_equal(hm_ranks_space(&ranks, pid[1]), second); /* the other processes keep their spaces */
    assert_int_equal(hm_ranks_update(&ranks, NULL), 1 + others);
    assert_false((uint32_t)first < ranks.n && ranks.rank[first].pid != 0);
    assert_int_equal(n_opened, others ? 0 : 2); /* whoever gets the number next is another process */
    assert_true(hm_ranks_is_ours(&ranks, (uint32_t)second));
    ranks.uid++;
    assert_false(hm_ranks_is_ours(&ranks, (uint32_t)second));
    end_child(pid[1]);
    hm_ranks_free(&ranks);
}

/* A set-user-id program in the step, for one. It lacks nothing. */
static void processes_of_others_are_not_counted_as_lacking(void **state)
{
    (void)state;
    struct hm_ranks ranks;
    pid_t pid = getppid();
    assert_int_equal(hm_ranks_init_list(&ranks, &pid, 1, getuid() + 1, NULL), 0);
    assert_int_equal(hm_ranks_update(&ranks, NULL), 0);
    assert_int_equal(ranks.n_lacking, 0);
    errno = EMFILE;
    assert_false(hm_ranks_is_ours(&ranks, 0));
    assert_int_equal(errno, ESRCH);
    hm_ranks_free(&ranks);
}

/* Of few descriptors, half stay free for what is opened for a moment. */
static void processes_do_not_take_the_last_descriptors(void **state)
{
    (void)state;
    struct hm_ranks ranks;
    struct rlimit before;
    pid_t pid[] = {start_child(), start_child()};
    int next = dup(0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit tight = {2 * ((rlim_t)next + 1), before.rlim_max};
    assert_int_equal(hm_ranks_init_list(&ranks, pid, 2, getuid(), NULL), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    assert_int_equal(hm_ranks_update(&ranks, NULL), 1);
    assert_int_equal(ranks.n_lacking, 1);
    assert_true(hm_ranks_is_ours(&ranks, 0));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(hm_ranks_update(&ranks, NULL), 2);
    const struct rlimit none = {(rlim_t)next + 2, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_false(hm_ranks_is_ours(&ranks, 0));
    assert_int_equal(errno, EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    hm_ranks_free(&ranks);
    end_child(pid[0]);
    end_child(pid[1]);
}

/* A cgroup with a process, and a cgroup below it with two more. No process has such a number. */
static void folders_without_folders_are_not_listed(void **state)
{
    (void)state;
    static const struct {
        nlink_t links;
        unsigned n_found, n_listed;
    } rows[] = {{3, 3, 2},
                {2, 1, 0}, /* no links from folders in it */
                {1, 3, 2}, /* a file system that does not count them */
                {0, 3, 2}};
    struct hm_ranks ranks;
    assert_int_equal(hm_ranks_init(&ranks, "/sys/fs/cgroup/a", getuid(), NULL), 0);
    snprintf(ranks.cgroup, sizeof(ranks.cgroup), "%s", scratch);
    assert_int_equal(mkdir(scratch_path("task_0"), 0700), 0);
    scratch_write(scratch_path("cgroup.procs"), "2147483645\n");
    scratch_write(scratch_path("task_0/cgroup.procs"), "2147483646\n2147483647\n");
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        links = rows[i].links;
        n_listed = n_opened = 0;
        assert_int_equal(hm_ranks_update(&ranks, NULL), 0);
        assert_int_equal(n_opened, rows[i].n_found);
        assert_int_equal(n_listed, rows[i].n_listed);
    }
    hm_ranks_free(&ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inside),
        cmocka_unit_test(test_user),
        cmocka_unit_test(test_bad_cgroups),
        cmocka_unit_test(test_one_that_was_never_there),
        cmocka_unit_test(test_come_and_go),
        cmocka_unit_test(processes_of_others_are_not_counted_as_lacking),
        cmocka_unit_test(processes_do_not_take_the_last_descriptors),
        cmocka_unit_test(folders_without_folders_are_not_listed),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
