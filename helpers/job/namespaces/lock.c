/* SPDX-License-Identifier: Apache-2.0 */
#include "lock.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/flock.h"
#include "base/rundir.h"
#include "wipelater.h"

#define LOCK "fsdax.namespaces"
#define PAUSE_NS 100000000L

static int open_lock(const struct hm_config *config, struct hm_error *error)
{
    static const struct hm_rundir_old old[] = {{"fsdax/lock", LOCK}, {NULL, NULL}};
    return hm_rundir_open_lock(hm_rundir_open_node(config->run_dir, old, error), config->run_dir, LOCK, error);
}

/* All processes wait by trying again and again, even if their wait has no limit: the kernel would give the lock to one
 * that sleeps until it is free before those that try. Returns 0 or -1. */
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
