/* SPDX-License-Identifier: Apache-2.0 */
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/flock.h"
#include "base/rundir.h"
#include "wipelater.h"

#define LOCK "fsdax.namespaces"
#define OLD "fsdax/lock" /* in run_dir, in versions before */
#define PAUSE_NS 100000000L

/*
 * Moves the lock from where versions before had it. It stays the same file: its holder keeps it. Users can hold up
 * whoever does that (base/rundir.h), so it is done once. Returns 0, also where another process has done it, or -1.
 */
static int take_over(int run, int node)
{
    if (faccessat(node, LOCK, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || renameat2(run, OLD, node, LOCK, RENAME_NOREPLACE) == 0)
        return 0;
    return errno == ENOENT || errno == EEXIST ? 0 : -1;
}

static int open_below(const struct hm_config *config, int run, struct hm_error *error)
{
    int node = hm_rundir_open_node(config->run_dir, error);
    if (node < 0)
        return -1;
    int fd = take_over(run, node) == 0 ? hm_flock_open(node, LOCK) : -1;
    if (fd < 0)
        hm_fail_errno(error, "cannot open %s/" HM_RUNDIR_NODE "/" LOCK, config->run_dir);
    int number = errno;
    close(node);
    errno = number;
    return fd;
}

static int open_lock(const struct hm_config *config, struct hm_error *error)
{
    int run = hm_rundir_open(config->run_dir, error);
    if (run < 0)
        return -1;
    int fd = open_below(config, run, error);
    int number = errno;
    close(run);
    errno = number;
    return fd;
}

/* All wait by trying, those without a limit, too: the kernel would give the lock to whoever waits in it, before those
 * who try. Returns 0 or -1. */
static int wait_for(int fd, const struct hm_config *config, bool waits)
{
    while (hm_flock_try(fd) != 0) {
        if (!waits || errno != EWOULDBLOCK || hm_wipe_left(config) == 0)
            return -1;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return 0;
}

int hm_namespacelock_take(const struct hm_config *config, bool waits, struct hm_error *error)
{
    int fd = open_lock(config, error);
    if (fd < 0 || wait_for(fd, config, waits) == 0)
        return fd;
    int number = errno;
    if (number == EWOULDBLOCK)
        hm_fail(error, number, "another process makes or removes file systems: it has %s/" HM_RUNDIR_NODE "/" LOCK,
                config->run_dir);
    else
        hm_fail_errno(error, "cannot lock %s/" HM_RUNDIR_NODE "/" LOCK, config->run_dir);
    close(fd);
    errno = number;
    return -1;
}
