/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a process's notes: opened once, and anew in a child that was forked (notesparts.h). */
#include "notesparts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc/nextfork.h"
#include "base/amount.h"
#include "blocks.h"
#include "notes.h"
#include "stack.h"

#define MOST_FILES 4096 /* names that are tried for a file */

struct hm_forklock hm_notes_lock;
struct hm_sites_table *hm_notes_table;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pid_t owner; /* the process whose file it is */

_Thread_local bool hm_notes_are_inside;
atomic_int hm_notes_state = HM_NOTES_NOT_ASKED;

static const char *folder; /* of the environment; it stays while the process lives */

static struct hm_sites_table *open_table(void)
{
    char path[PATH_MAX];
    struct stat status;
    struct hm_sites_table *found = NULL;
    if (snprintf(path, sizeof(path), "%s/" HM_SITES_TABLE, folder) >= (int)sizeof(path))
        return NULL;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && status.st_uid == geteuid() && status.st_size == (off_t)sizeof(*found)) {
        void *memory = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        found = memory == MAP_FAILED ? NULL : memory;
    }
    close(fd);
    if (found && (found->magic != HM_SITES_MAGIC || found->bytes != sizeof(*found))) {
        munmap(found, sizeof(*found));
        found = NULL;
    }
    return found;
}

/* Makes this process's file. Of the programs that a pid executes, a later one gets a larger number, also where the
 * recorder has removed the files of those before. Returns whether that was possible. */
static bool open_process(void)
{
    char path[PATH_MAX];
    int first = (int)hm_least(atomic_load(&hm_notes_table->processes), INT_MAX - MOST_FILES);
    owner = getpid();
    for (int i = 0; i < MOST_FILES; i++) {
        if (snprintf(path, sizeof(path), "%s/" HM_SITES_PROCESS, folder, (int)owner, first + i) >= (int)sizeof(path))
            return false;
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 && errno == EEXIST)
            continue;
        bool is_open = fd >= 0 && hm_blocks_open(fd, path, owner);
        if (fd >= 0)
            close(fd);
        if (is_open)
            atomic_fetch_add(&hm_notes_table->processes, 1);
        return is_open;
    }
    return false;
}

static void begin_fork(void)
{
    hm_forklock_begin_fork(&hm_notes_lock);
}

static void end_fork(void)
{
    hm_forklock_end_fork(&hm_notes_lock);
}

/* In the child its notes are its own. Where a handler of a signal forks, which has interrupted a change of the blocks,
 * these are not whole: then nothing that is not small is noted in the child, as it is not the owner of the file. Files
 * are opened, where a thread can be cancelled; fork is no such place. */
static void end_fork_in_child(void)
{
    int before, number = errno;
    bool is_whole = hm_forklock_end_fork_in_child(&hm_notes_lock), is_outside = hm_notes_enter();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    if (is_whole && atomic_load(&hm_notes_state) == HM_NOTES_ON && !open_process())
        atomic_store(&hm_notes_state, HM_NOTES_OFF);
    pthread_setcancelstate(before, NULL);
    errno = number;
    if (is_outside)
        hm_notes_leave();
}

static const struct hm_fork_handlers own = {begin_fork, end_fork, end_fork_in_child};
const struct hm_fork_handlers *const hm_fork_handlers[] = {&own, NULL};

static bool begin_notes(void)
{
    folder = secure_getenv(HM_SITES_FOLDER);
    if (!folder || folder[0] != '/')
        return false;
    if (!hm_fork_begin() || hm_stack_begin() < 0)
        return false;
    hm_notes_table = open_table();
    return hm_notes_table && open_process();
}

/* Files are opened here, where a thread can be cancelled; malloc must not be such a place. */
static void begin(void)
{
    int before, number = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    atomic_store(&hm_notes_state, begin_notes() ? HM_NOTES_ON : HM_NOTES_OFF);
    pthread_setcancelstate(before, NULL);
    errno = number;
}

bool hm_notes_begin(void)
{
    if (!hm_notes_enter())
        return false;
    pthread_once(&once, begin);
    hm_notes_leave();
    return atomic_load(&hm_notes_state) == HM_NOTES_ON;
}

bool hm_notes_are_ours(void)
{
    return getpid() == owner;
}

bool hm_notes_stop(void)
{
    if (atomic_load(&hm_notes_state) != HM_NOTES_ON || !hm_notes_are_ours())
        return false;
    atomic_store(&hm_notes_state, HM_NOTES_OFF);
    return true;
}
