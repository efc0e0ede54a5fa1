/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the start of child processes: what they inherit and what not, and how they are waited for. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/heldlock.h"
#include "base/spawn.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static struct hm_error error;

static char *const no_environment[] = {NULL};

/* Run a shell command with hm_spawn_start; returns its standard error. */
static const char *spawn_shell(const char *command, int extra)
{
    static char text[2048];
    char shell[] = "sh", flag[] = "-c", words[512];
    char *arguments[] = {shell, flag, words, NULL};
    int errors[2];
    size_t have = 0;
    ssize_t got;
    snprintf(words, sizeof(words), "%s", command);
    assert_int_equal(pipe(errors), 0);
    struct hm_spawn spawn = {
        .path = "/bin/sh", .arguments = arguments, .environment = no_environment, .extra = extra, .errors = errors[1]};
    pid_t pid = hm_spawn_start(&spawn, &error);
    assert_true(pid > 0);
    close(errors[1]);
    while ((got = read(errors[0], text + have, sizeof(text) - 1 - have)) > 0)
        have += (size_t)got;
    text[have] = '\0';
    close(errors[0]);
    assert_int_equal(hm_spawn_wait(pid), 0);
    return text;
}

static void test_nothing_is_handed_down(void **state)
{
    (void)state;
    sigset_t all, before;
    int open_one[2];
    assert_int_equal(pipe(open_one), 0);
    setenv("HM_SECRET", "x", 1);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    signal(SIGPIPE, SIG_IGN);
    assert_null(strstr(spawn_shell("/usr/bin/env >&2; true", -1), "HM_SECRET"));
    /* No signal is ignored. (Only signals up to 31 are checked, as libc keeps the next two for itself.) */
    const char *ignored = strstr(spawn_shell("exec /bin/cat /proc/self/status >&2", -1), "SigIgn:\t");
    assert_non_null(ignored);
    assert_int_equal(strtoull(ignored + strlen("SigIgn:\t"), NULL, 16) & 0x7fffffff, 0);
    const char *blocked = strstr(spawn_shell("exec /bin/cat /proc/self/status >&2", -1), "SigBlk:\t");
    assert_non_null(blocked);
    assert_int_equal(strtoull(blocked + strlen("SigBlk:\t"), NULL, 16), 0);
    const char *list_open = "for fd in 0 1 2 3 4 5 6 7 8 9; do [ ! -e /proc/$$/fd/$fd ] || echo $fd >&2; done";
    assert_string_equal(spawn_shell(list_open, -1), "0\n1\n2\n");
    assert_string_equal(spawn_shell(list_open, open_one[0]), "0\n1\n2\n3\n");
    assert_string_equal(spawn_shell("pwd >&2", -1), "/\n");
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, SIG_DFL);
    close(open_one[0]);
    close(open_one[1]);
}

/* Each given descriptor gets its place in the child, whatever number it has here: even the number of another one's
 * place. */
static void test_given_descriptors_get_their_places(void **state)
{
    (void)state;
    static const char *const names[] = {"input", "output", "errors", "extra"};
    char shell[] = "sh", flag[] = "-c", words[] = "read x; echo $x; echo e >&2; echo 3 >&3", now[16];
    char *arguments[] = {shell, flag, words, NULL};
    int standard[3], fd[4];
    for (int i = 0; i < 3; i++)
        standard[i] = fcntl(i, F_DUPFD_CLOEXEC, 64);
    for (int i = 0; i < 4; i++) {
        scratch_write(scratch_path("%s", names[i]), i == 0 ? "said\n" : "");
        fd[i] = open(scratch_path("%s", names[i]), (i == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
    }
    /* Two have numbers that are the places of others. */
    assert_true(dup2(fd[0], 2) == 2 && dup2(fd[2], 1) == 1);
    struct hm_spawn spawn = {.path = "/bin/sh",
                             .arguments = arguments,
                             .environment = no_environment,
                             .extra = fd[3],
                             .input = 2,
                             .output = fd[1],
                             .errors = 1};
    pid_t pid = hm_spawn_start(&spawn, &error);
    for (int i = 0; i < 3; i++) {
        dup2(standard[i], i);
        close(standard[i]);
    }
    assert_int_equal(hm_spawn_wait_for(pid, 60000), 0);
    static const char *const then[] = {"said", "said", "e", "3"};
    for (int i = 0; i < 4; i++) {
        close(fd[i]);
        assert_int_equal(hm_file_read(scratch_path("%s", names[i]), now, sizeof(now), &error), 0);
        assert_string_equal(now, then[i]);
    }
}

static void test_a_child_is_waited_for_no_longer_than_its_limit(void **state)
{
    (void)state;
    char shell[] = "sh", flag[] = "-c", quick[] = "exit 3", slow[] = "trap '' TERM; sleep 100000";
    char *arguments[] = {shell, flag, quick, NULL};
    struct hm_spawn spawn = {
        .path = "/bin/sh", .arguments = arguments, .environment = no_environment, .extra = -1, .errors = -1};
    pid_t pid = hm_spawn_start(&spawn, &error);
    assert_int_equal(hm_spawn_wait_for(pid, 60000), 3 << 8);
    arguments[2] = slow;
    pid = hm_spawn_start(&spawn, &error);
    assert_true(pid > 0);
    assert_int_equal(hm_spawn_wait_for(pid, 50), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_int_equal(waitpid(pid, NULL, 0), -1); /* gone, and no zombie */
    assert_int_equal(errno, ECHILD);
}

/* The program's parent is a child of this process, and ends at once. This process is a subreaper, so it sees how the
 * program ends. */
static void test_a_child_dies_with_its_parent(void **state)
{
    (void)state;
    char shell[] = "sh", flag[] = "-c", slow[] = "sleep 100000";
    char *arguments[] = {shell, flag, slow, NULL};
    struct hm_spawn spawn = {.path = "/bin/sh",
                             .arguments = arguments,
                             .environment = no_environment,
                             .extra = -1,
                             .errors = -1,
                             .dies_with_parent = true};
    int ends[2], status;
    pid_t pid = -1;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t between = fork();
    if (between == 0) {
        pid = hm_spawn_start(&spawn, &error);
        _exit(write(ends[1], &pid, sizeof(pid)) == sizeof(pid) ? 0 : 1);
    }
    assert_int_equal(read(ends[0], &pid, sizeof(pid)), sizeof(pid));
    assert_int_equal(waitpid(between, &status, 0), between);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(ends[0]);
    close(ends[1]);
}

/* All descriptors from `first` on are closed, except for `kept`. */
static void test_descriptors_are_closed(void **state)
{
    (void)state;
    static const struct {
        int first, kept;
        const char *then; /* expected state of the descriptors 20 to 25, a letter each */
    } rows[] = {{20, -1, "------"}, {20, 22, "--x---"}, {22, 20, "xx----"}, {22, 22, "xxx---"}, {23, 25, "xxx--x"}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        int result;
        pid_t pid = fork();
        if (pid == 0) {
            char then[] = "------";
            for (int fd = 20; fd <= 25; fd++)
                dup2(STDERR_FILENO, fd);
            hm_close_from(rows[i].first, rows[i].kept);
            for (int fd = 20; fd <= 25; fd++)
                then[fd - 20] = fcntl(fd, F_GETFD) >= 0 ? 'x' : '-';
            _exit(strcmp(then, rows[i].then) == 0 ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &result, 0), pid);
        assert_int_equal(result, 0);
    }
}

struct seen {
    int kept, lost;
    uid_t uid;
};

/* Are standard input, output and error /dev/null? */
static bool has_only_null(void)
{
    struct stat null, status;
    bool is_null = stat("/dev/null", &null) == 0;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        is_null = is_null && fstat(fd, &status) == 0 && status.st_rdev == null.st_rdev;
    return is_null;
}

static bool is_in_root(void)
{
    char folder[PATH_MAX];
    return getcwd(folder, sizeof(folder)) && strcmp(folder, "/") == 0;
}

/* Runs in the child. Returns 0 if the child has inherited exactly what it should have. */
static int look_around(void *data)
{
    const struct seen *seen = data;
    sigset_t blocked;
    if (!has_only_null())
        return 5;
    if (fcntl(seen->kept, F_GETFD) < 0)
        return 1;
    if (fcntl(seen->lost, F_GETFD) >= 0)
        return 2;
    if (sigprocmask(SIG_BLOCK, NULL, &blocked) != 0 || sigismember(&blocked, SIGTERM))
        return 3;
    if (geteuid() != seen->uid || getuid() != seen->uid)
        return 4;
    return is_in_root() ? 0 : 6;
}

static int end_with_seven(void *data)
{
    (void)data;
    return 7;
}

static int wait_for_ever(void *data)
{
    (void)data;
    pause();
    return 1;
}

static void test_a_function_runs_in_a_child(void **state)
{
    (void)state;
    bool is_root = geteuid() == 0;
    assert_false(is_in_root());
    int kept = open("/", O_RDONLY | O_CLOEXEC), lost = open("/", O_RDONLY | O_CLOEXEC);
    struct seen seen = {kept, lost, is_root ? 4321 : geteuid()};
    sigset_t term, before;
    struct hm_spawn_call call = {
        .run = look_around, .data = &seen, .kept = kept, .drop = is_root, .uid = seen.uid, .gid = 4321};
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, &before);
    assert_int_equal(hm_spawn_wait_for(hm_spawn_call(&call, &error), 60000), 0);
    sigprocmask(SIG_SETMASK, &before, NULL);
    call = (struct hm_spawn_call){.run = end_with_seven, .kept = -1};
    assert_int_equal(hm_spawn_wait_for(hm_spawn_call(&call, &error), 60000), 7 << 8);
    call.run = wait_for_ever;
    pid_t pid = hm_spawn_call(&call, &error);
    assert_int_equal(hm_spawn_wait_for(pid, 50), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1); /* gone, and no zombie */
    close(kept);
    close(lost);
}

/* Without a free descriptor the child cannot be watched. */
static void test_a_child_that_cannot_be_watched_is_killed(void **state)
{
    (void)state;
    struct rlimit before, none;
    const struct hm_spawn_call call = {.run = wait_for_ever, .kept = -1};
    int status;
    pid_t pid = hm_spawn_call(&call, &error);
    assert_true(pid > 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int result = hm_spawn_wait_for(pid, 60000), number = errno;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(result, -1);
    assert_int_equal(number, EMFILE);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void test_a_start_that_fails_names_the_step(void **state)
{
    (void)state;
    char name[] = "none";
    char *arguments[] = {name, NULL};
    struct hm_spawn spawn = {
        .path = "/nonexistent/none", .arguments = arguments, .environment = no_environment, .extra = -1, .errors = -1};
    assert_int_equal(hm_spawn_start(&spawn, &error), -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(error.text, "cannot execute /nonexistent/none: No such file or directory");
    spawn.cgroup = scratch; /* it has no cgroup.procs */
    assert_int_equal(hm_spawn_start(&spawn, &error), -1);
    assert_non_null(strstr(error.text, "cannot choose the cgroup of"));
}

/* A program that is never executed: the start waits at a pipe that nobody reads, as it would at a file system that
 * hangs. */
static void test_a_start_that_hangs_is_killed(void **state)
{
    (void)state;
    char name[] = "true";
    char *arguments[] = {name, NULL};
    const struct hm_spawn spawn = {.path = "/bin/true",
                                   .arguments = arguments,
                                   .environment = no_environment,
                                   .extra = -1,
                                   .errors = -1,
                                   .cgroup = scratch,
                                   .start_ms = 100};
    assert_int_equal(mkfifo(scratch_path("cgroup.procs"), 0600), 0);
    int64_t begun = hm_clock_ms(CLOCK_MONOTONIC);
    assert_int_equal(hm_spawn_start(&spawn, &error), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_string_equal(error.text, "cannot execute /bin/true within 100 ms: killed");
    assert_in_range(hm_clock_ms(CLOCK_MONOTONIC) - begun, 95, 60000);
    assert_true(waitpid(-1, NULL, WNOHANG) <= 0); /* no zombie is left */
    assert_int_equal(unlink(scratch_path("cgroup.procs")), 0);
}

static void test_nothing_is_started_under_a_lock_that_jobs_wait_for(void **state)
{
    (void)state;
    char name[] = "true";
    char *arguments[] = {name, NULL};
    const struct hm_spawn spawn = {
        .path = "/bin/true", .arguments = arguments, .environment = no_environment, .extra = -1, .errors = -1};
    const struct hm_spawn_call call = {.run = end_with_seven, .kept = -1};
    hm_heldlock_enter();
    assert_int_equal(hm_spawn_start(&spawn, &error), -1);
    assert_int_equal(errno, EDEADLK);
    assert_string_equal(error.text, "/bin/true is not started while a lock is held that jobs wait for");
    assert_int_equal(hm_spawn_call(&call, &error), -1);
    assert_int_equal(errno, EDEADLK);
    hm_heldlock_leave();
    assert_int_equal(hm_spawn_wait_for(hm_spawn_start(&spawn, &error), 60000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_handed_down),
        cmocka_unit_test(test_descriptors_are_closed),
        cmocka_unit_test(test_a_child_dies_with_its_parent),
        cmocka_unit_test(test_given_descriptors_get_their_places),
        cmocka_unit_test(test_a_child_is_waited_for_no_longer_than_its_limit),
        cmocka_unit_test(test_a_function_runs_in_a_child),
        cmocka_unit_test(test_a_child_that_cannot_be_watched_is_killed),
        cmocka_unit_test(test_a_start_that_fails_names_the_step),
        cmocka_unit_test(test_a_start_that_hangs_is_killed),
        cmocka_unit_test(test_nothing_is_started_under_a_lock_that_jobs_wait_for),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
