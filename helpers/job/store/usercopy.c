/* SPDX-License-Identifier: Apache-2.0 */
#include "usercopy.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "append.h"
#include "base/clock.h"
#include "base/files.h"

#define COPY_MS 3000 /* shorter than the wait for a lock: that of his own file the user may hold */
#define KILL_MS 1000 /* for a killed child to be gone */

/* For good: every id is set and looked at again. Returns 0, or -1 with errno. */
static int become(uid_t uid, gid_t gid)
{
    uid_t r, e, s;
    gid_t gr, ge, gs;
    if (geteuid() == 0 && setgroups(0, NULL) != 0)
        return -1;
    if (setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
        return -1;
    if (getresuid(&r, &e, &s) == 0 && getresgid(&gr, &ge, &gs) == 0 && r == uid && e == uid && s == uid && gr == gid &&
        ge == gid && gs == gid)
        return 0;
    errno = EPERM;
    return -1;
}

/* Never returns; the exit status is an errno. */
static void child(int own, const struct hm_store_key *key, const char *day, const char *file, const char *line)
{
    sigset_t none;
    /* The process is his from here on: what root has open, the ledger's lock with it, is not. */
    hm_close_from(STDERR_FILENO + 1, own);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (become(key->uid, key->gid) != 0)
        _exit(errno);
    const struct hm_rights folder = {0700, key->uid, key->gid}, records = {0600, key->uid, key->gid};
    int in_day = hm_folder_open(own, day, &folder, NULL);
    if (in_day < 0 || hm_line_append(in_day, file, &records, line, NULL) != 0)
        _exit(errno);
    _exit(0);
}

static bool ends_within(int pidfd, int ms)
{
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    int64_t end = hm_clock_ms(CLOCK_MONOTONIC) + ms;
    int ready;
    while ((ready = poll(&ended, 1, ms)) < 0 && errno == EINTR)
        ms = end > hm_clock_ms(CLOCK_MONOTONIC) ? (int)(end - hm_clock_ms(CLOCK_MONOTONIC)) : 0;
    return ready > 0;
}

/*
 * The child is the user's: he may stop it, and the timers in it too. So the time is kept here, and no wait is without
 * an end; a child that even SIGKILL does not end (in a file system of the user's) is left to init.
 */
static int wait_for_child(pid_t pid, uid_t uid, struct hm_error *error)
{
    int status;
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    int number = pidfd < 0 ? errno : ETIMEDOUT;
    bool in_time = pidfd >= 0 && ends_within(pidfd, COPY_MS);
    if (!in_time) {
        kill(pid, SIGKILL);
        if (pidfd >= 0)
            ends_within(pidfd, KILL_MS);
    }
    pid_t reaped = waitpid(pid, &status, WNOHANG);
    if (pidfd >= 0)
        close(pidfd);
    if (!in_time)
        return hm_fail(error, number, "the copy for user %u was not written: %s", uid, strerror(number));
    if (reaped != pid)
        return hm_fail(error, ECHILD, "the copy for user %u: its outcome is not known", uid);
    if (WIFSIGNALED(status))
        return hm_fail(error, ETIMEDOUT, "the copy for user %u was not written: signal %d", uid, WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return hm_fail(error, WEXITSTATUS(status), "the copy for user %u was not written: %s", uid,
                       strerror(WEXITSTATUS(status)));
    return 0;
}

int hm_usercopy_append(int records, const struct hm_store_key *key, const char *day, const char *file, const char *line,
                       struct hm_error *error)
{
    char name[16];
    int own = -1, result = -1;
    if (key->uid == 0)
        return 0;
    const struct hm_rights all = {0711, geteuid(), getegid()}, user = {0700, key->uid, key->gid};
    snprintf(name, sizeof(name), "%u", key->uid);
    int by_user = hm_folder_open(records, "by-user", &all, error);
    if (by_user < 0)
        return -1;
    own = hm_folder_open(by_user, name, &user, error);
    if (own < 0)
        goto done;
    pid_t pid = fork();
    if (pid == 0)
        child(own, key, day, file, line);
    result = pid < 0 ? hm_fail_errno(error, "the copy for user %u: no process", key->uid)
                     : wait_for_child(pid, key->uid, error);
done:
    if (own >= 0)
        close(own);
    close(by_user);
    return result;
}
