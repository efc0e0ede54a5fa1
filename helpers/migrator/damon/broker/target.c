/* SPDX-License-Identifier: Apache-2.0 */
#include "target.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/files.h"
#include "base/process.h"

/*
 * Does the process still have memory? A process that is ending gives its memory up first, and the kernel may take long
 * to free it. In that time the process's files belong to root, so its owner cannot be told.
 */
static bool has_memory(pid_t pid)
{
    char path[64], text[128];
    unsigned long long pages;
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    return hm_file_read(path, text, sizeof(text), NULL) == 0 && sscanf(text, "%llu", &pages) == 1 && pages > 0;
}

/*
 * Finds out who owns the process's file `maps`. The owner of its folder does not help: the folder always belongs to the
 * process's effective user, but the file to root if the process is not dumpable.
 */
static int find_owner(pid_t pid, uid_t *owner)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    if (stat(path, &status) != 0)
        return -1;
    *owner = status.st_uid;
    return 0;
}

int hm_damon_target_open(const struct hm_damon_process *process, uid_t uid, struct hm_error *error)
{
    uid_t owner;
    struct hm_process named = {.pid = process->pid, .start_time = process->start_time};
    int pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (pidfd < 0)
        return hm_fail(error, ESRCH, "process %d has ended", process->pid);
    if (find_owner(process->pid, &owner) != 0 || !hm_process_is_running(&named) || !has_memory(process->pid)) {
        hm_fail(error, ESRCH, "process %d has ended, or is another one by now", process->pid);
    } else if (uid != 0 && owner != uid) {
        hm_fail(error, EPERM, "process %d does not belong to user %u", process->pid, uid);
    } else if (hm_damon_targets_live(&pidfd, 1)) {
        return pidfd; /* it still lives, so the number meant this process when it was checked */
    } else {
        hm_fail(error, ESRCH, "process %d has ended", process->pid);
    }
    int number = errno;
    close(pidfd);
    errno = number;
    return -1;
}

int hm_damon_target_check(pid_t pid, uid_t uid)
{
    uid_t owner;
    if (uid == 0)
        return 0;
    if (find_owner(pid, &owner) != 0)
        return hm_fail(NULL, ESRCH, "process %d has ended", (int)pid);
    if (owner == uid)
        return 0;
    return hm_fail(NULL, has_memory(pid) ? EPERM : ESRCH, "process %d does not belong to user %u", (int)pid, uid);
}

unsigned hm_damon_target_cpu(pid_t pid, double *cpu_s)
{
    char path[64], text[1024];
    unsigned long long user, system;
    unsigned n_threads;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (hm_file_read(path, text, sizeof(text), NULL) != 0)
        return 0;
    /* The name, in parentheses, may have blanks and parentheses in it. What follows are the fields from the third on.
     */
    const char *rest = strrchr(text, ')');
    if (!rest || sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %u", &user,
                        &system, &n_threads) != 3)
        return 0;
    *cpu_s = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    return n_threads;
}

bool hm_damon_targets_live(const int *pidfd, unsigned n)
{
    struct pollfd ends[HM_DAMON_TARGETS];
    for (unsigned i = 0; i < n; i++)
        ends[i] = (struct pollfd){.fd = pidfd[i], .events = POLLIN};
    return poll(ends, n, 0) == 0;
}
