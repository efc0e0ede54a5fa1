/* SPDX-License-Identifier: Apache-2.0 */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "heldlock.h"
#include "privilege.h"
#include "process.h"

#define OOM_SCORE "/proc/self/oom_score_adj"
#define ROOT_CGROUP "/sys/fs/cgroup/cgroup.procs"
#define EXTRA 3
#define REPORT 4 /* the child writes here what failed; a successful exec closes it */
#define START_PATIENCE_MS 10000
#define KILL_PATIENCE_MS 1000
#define FIRST_FREE 16 /* descriptors are first copied to numbers from here on, out of the way of their final places */

enum step { STEP_NONE, STEP_DESCRIPTORS, STEP_CGROUP, STEP_PARENT, STEP_OOM, STEP_FOLDER, STEP_EXEC };

static const char *const step_names[] = {
    [STEP_NONE] = "start",
    [STEP_DESCRIPTORS] = "set the descriptors of",
    [STEP_CGROUP] = "choose the cgroup of",
    [STEP_PARENT] = "set the parent-death signal of",
    [STEP_OOM] = "reset the OOM score of",
    [STEP_FOLDER] = "choose the folder of",
    [STEP_EXEC] = "execute",
};

struct report {
    int step, number;
};

/* From here to child(): only calls that are safe between fork and exec in a process with threads. */

static int place_descriptors(const struct hm_spawn *spawn, int report)
{
    const int given[] = {spawn->input > 0 ? spawn->input : -1, spawn->output > 0 ? spawn->output : -1, spawn->errors,
                         spawn->extra};
    int parked[EXTRA + 1];
    int parked_report = fcntl(report, F_DUPFD, FIRST_FREE);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (parked_report < 0 || null < 0)
        return -1;
    for (int fd = 0; fd <= EXTRA; fd++) {
        parked[fd] = fcntl(given[fd] < 0 ? null : given[fd], F_DUPFD, FIRST_FREE);
        if (parked[fd] < 0)
            return -1;
    }
    for (int fd = 0; fd <= EXTRA; fd++)
        if (dup2(parked[fd], fd) < 0)
            return -1;
    if (dup3(parked_report, REPORT, O_CLOEXEC) < 0)
        return -1;
    if (spawn->extra < 0)
        close(EXTRA);
    hm_close_from(REPORT + 1, -1);
    return 0;
}

static int write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    ssize_t length = (ssize_t)strlen(text);
    int result = write(fd, text, (size_t)length) == length ? 0 : -1;
    close(fd);
    return result;
}

static void reset_signals(void)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &plain, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

int hm_spawn_die_with_parent(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return -1;
    errno = ESRCH;
    return getppid() == parent ? 0 : -1;
}

static enum step become(const struct hm_spawn *spawn, const char *cgroup_procs, bool is_protected, int report,
                        pid_t parent)
{
    setsid();
    if (place_descriptors(spawn, report) != 0)
        return STEP_DESCRIPTORS;
    if (spawn->cgroup && write_file(cgroup_procs, "0") != 0)
        return STEP_CGROUP;
    if (spawn->dies_with_parent && hm_spawn_die_with_parent(parent) != 0)
        return STEP_PARENT;
    if (is_protected && write_file(OOM_SCORE, "0") != 0)
        return STEP_OOM;
    reset_signals();
    umask(077);
    if (chdir("/") != 0)
        return STEP_FOLDER;
    execve(spawn->path, spawn->arguments, spawn->environment);
    return STEP_EXEC;
}

static void child(const struct hm_spawn *spawn, const char *cgroup_procs, bool is_protected, int report, pid_t parent)
{
    struct report failure = {.step = become(spawn, cgroup_procs, is_protected, report, parent), .number = errno};
    /* If placing the descriptors failed, the pipe is still at its old number. */
    if (write(failure.step == STEP_DESCRIPTORS ? report : REPORT, &failure, sizeof(failure)) < 0)
        _exit(126);
    _exit(127);
}

int hm_spawn_wait(pid_t pid)
{
    int status;
    pid_t ended;
    do
        ended = waitpid(pid, &status, 0);
    while (ended < 0 && errno == EINTR);
    return ended == pid ? status : -1;
}

/* Kill a child that cannot be watched, where it still runs: nobody else would end it. */
static int give_up(pid_t pid)
{
    int status, number = errno;
    if (waitpid(pid, &status, WNOHANG) == 0)
        kill(pid, SIGKILL);
    errno = number;
    return -1;
}

/*
 * Moves a child that was killed, but does not end, out of the cgroup of its step. The kernel holds such a child, for
 * example on a file system that does not answer. slurmstepd waits for all processes of the cgroup, so the node would be
 * drained otherwise.
 */
static void leave_behind(pid_t pid)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", (int)pid);
    write_file(ROOT_CGROUP, text);
}

int hm_spawn_wait_for(pid_t pid, int patience_ms)
{
    int status;
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return give_up(pid);
    bool is_over = hm_process_ends_within(pidfd, patience_ms);
    if (!is_over) {
        syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
        if (!hm_process_ends_within(pidfd, KILL_PATIENCE_MS)) {
            leave_behind(pid);
            close(pidfd); /* hm_process_ends_within has not closed it */
        }
    }
    bool is_known = waitpid(pid, &status, WNOHANG) == pid;
    if (!is_over)
        errno = ETIMEDOUT;
    return is_over && is_known ? status : -1;
}

/* The only fork. The child begins with all signals blocked, so that no signal handler of the daemon runs in it; the
 * parent gets its own mask back. Returns what fork() returns, with errno. */
static pid_t fork_blocked(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    int number = errno;
    if (pid != 0)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = number;
    return pid;
}

/* Is this process protected from the OOM killer? Children inherit the protection. True also where the
 * score cannot be read. */
static bool has_protection(void)
{
    char text[16];
    return hm_file_read(OOM_SCORE, text, sizeof(text), NULL) != 0 || text[0] == '-';
}

/*
 * Hear from the child what failed, for at most `patience_ms`: what it opens and executes may be on a file system that
 * hangs. Returns 0 where it executes the program (or was killed before it could say anything), 1 where it failed, or -1
 * where it did neither in time.
 */
static int hear(int fd, int patience_ms, struct report *failure)
{
    int64_t deadline = hm_clock_ms(CLOCK_MONOTONIC) + patience_ms;
    struct pollfd said = {.fd = fd, .events = POLLIN};
    int ready;
    do {
        int64_t left = deadline - hm_clock_ms(CLOCK_MONOTONIC);
        ready = poll(&said, 1, left > 0 ? (int)left : 0);
    } while (ready < 0 && errno == EINTR);
    if (ready <= 0)
        return -1;
    return read(fd, failure, sizeof(*failure)) == (ssize_t)sizeof(*failure) ? 1 : 0;
}

pid_t hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *error)
{
    struct report failure = {0};
    char cgroup_procs[512];
    int report[2];
    if (hm_heldlock_check(spawn->path, error) != 0)
        return -1;
    if (spawn->cgroup &&
        snprintf(cgroup_procs, sizeof(cgroup_procs), "%s/cgroup.procs", spawn->cgroup) >= (int)sizeof(cgroup_procs))
        return hm_fail(error, ENAMETOOLONG, "cannot start %s: the path of its cgroup is too long", spawn->path);
    if (pipe2(report, O_CLOEXEC) != 0)
        return hm_fail_errno(error, "cannot start %s", spawn->path);
    bool is_protected = has_protection();
    pid_t parent = getpid();
    pid_t pid = fork_blocked();
    if (pid == 0)
        child(spawn, cgroup_procs, is_protected, report[1], parent);
    int number = errno;
    close(report[1]);
    int patience_ms = spawn->start_ms > 0 ? spawn->start_ms : START_PATIENCE_MS;
    int heard = pid < 0 ? -1 : hear(report[0], patience_ms, &failure);
    close(report[0]);
    if (heard == 0)
        return pid;
    if (pid < 0) {
        errno = number;
        return hm_fail_errno(error, "cannot start %s", spawn->path);
    }
    /* A child that failed is about to end by itself; one that hangs is killed at once. */
    hm_spawn_wait_for(pid, heard < 0 ? 0 : KILL_PATIENCE_MS);
    if (heard < 0)
        return hm_fail(error, ETIMEDOUT, "cannot execute %s within %d ms: killed", spawn->path, patience_ms);
    errno = failure.number;
    return hm_fail_errno(error, "cannot %s %s", step_names[failure.step], spawn->path);
}

/* Puts /dev/null in the place of the caller's standard input, output and error, except `kept`. They may be pipes whose
 * reader waits for the last process that has them. */
static int forget_standard(int kept)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
        if (fd != kept && dup2(null, fd) < 0)
            return -1;
    return null < 0 ? -1 : 0;
}

pid_t hm_spawn_call(const struct hm_spawn_call *call, struct hm_error *error)
{
    if (hm_heldlock_check("a process", error) != 0)
        return -1;
    bool is_protected = has_protection();
    pid_t pid = fork_blocked();
    if (pid != 0)
        return pid > 0 ? pid : hm_fail_errno(error, "cannot start a process");
    if (forget_standard(call->kept) != 0)
        _exit(errno);
    hm_close_from(STDERR_FILENO + 1, call->kept);
    /* The caller's folder may be on a file system that is to be unmounted while this child still runs. */
    if (chdir("/") != 0 || (is_protected && write_file(OOM_SCORE, "0") != 0) ||
        (call->drop && hm_privilege_drop(call->uid, call->gid) != 0))
        _exit(errno);
    reset_signals();
    _exit(call->run(call->data));
}
