/* SPDX-License-Identifier: Apache-2.0 */
#include "lock.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/flock.h"
#include "base/patience.h"
#include "folder.h"

#define LOCK HM_NAMESPACE_LOCK
#define PATH HM_RUNDIR_NODE "/" LOCK /* in run_dir */

static int fail_held(int lock, const char *run_dir, unsigned patience_s, struct hm_error *error)
{
    char pid[16];
    (void)hm_file_read_open(lock, pid, sizeof(pid));
    return hm_fail(error, EBUSY, "another hybridmem-namespace is at work%s%s: it still has %s/" PATH " after %u s",
                   pid[0] ? ", process " : "", pid, run_dir, patience_s);
}

/* Write the pid into the lock, for processes that wait. If this fails, their message only lacks the pid. */
static void sign(int lock)
{
    if (ftruncate(lock, 0) == 0 && lseek(lock, 0, SEEK_SET) == 0)
        (void)dprintf(lock, "%d", (int)getpid());
}

/* Wait for the lock. Returns 0, or -1: EWOULDBLOCK where another process has kept it for all of the patience. */
static int wait_for(int lock, uint64_t *since_ns, unsigned patience_s)
{
    int result;
    do
        result = hm_flock_try(lock);
    while (result != 0 && (errno == EINTR || (errno == EWOULDBLOCK && hm_patience_pause(since_ns, patience_s))));
    if (result == 0)
        sign(lock);
    return result;
}

int hm_lock_take(const struct hm_config *config, uint64_t *since_ns, unsigned patience_s, struct hm_error *error)
{
    if (*since_ns == 0)
        *since_ns = hm_clock_ns(CLOCK_MONOTONIC);
    int folder = hm_namespace_folder_open(config->run_dir, error);
    int lock = hm_rundir_open_lock(folder, config->run_dir, LOCK, error);
    if (lock < 0)
        return -1;
    if (wait_for(lock, since_ns, patience_s) == 0)
        return lock;
    if (errno == EWOULDBLOCK)
        fail_held(lock, config->run_dir, patience_s, error);
    else
        hm_fail_errno(error, "cannot lock %s/" PATH, config->run_dir);
    int number = errno;
    close(lock);
    errno = number;
    return -1;
}

bool hm_lock_pause(int lock, uint64_t *since_ns, unsigned patience_s)
{
    hm_flock_unlock(lock);
    return hm_patience_pause(since_ns, patience_s) && wait_for(lock, since_ns, patience_s) == 0;
}
