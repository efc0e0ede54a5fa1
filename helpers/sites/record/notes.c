/* SPDX-License-Identifier: Apache-2.0 */
#include "notes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "blocks.h"
#include "place.h"
#include "sites/compile/given.h"
#include "sites/profile/slices.h"
#include "stack.h"
#include "table.h"

#define MOST_FILES 4096 /* names that are tried for a file */

enum { NOT_ASKED, OFF, ON };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int state = NOT_ASKED;
static struct hm_sites_table *table;
static pid_t owner; /* the process whose file it is */

static atomic_uint n_threads;
static _Thread_local unsigned shard; /* this thread's, plus 1; 0: none yet */
static _Thread_local bool is_inside;

bool hm_notes_enter(void)
{
    if (is_inside)
        return false;
    is_inside = true;
    return true;
}

void hm_notes_leave(void)
{
    is_inside = false;
}

/* ---------------------------------------------------------- open and fork */

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
    int first = (int)hm_least(atomic_load(&table->processes), INT_MAX - MOST_FILES);
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
            atomic_fetch_add(&table->processes, 1);
        return is_open;
    }
    return false;
}

static _Thread_local bool has_fork; /* this thread forks, and begin_fork has taken the lock */

/* A signal handler may fork where it has interrupted a note, which has the lock perhaps. Then nothing is done here, and
 * nothing that is not small is noted in the child, as it is not the owner of the file. */
static void begin_fork(void)
{
    has_fork = hm_notes_enter(); /* other handlers' allocations do not take the lock again */
    if (has_fork)
        pthread_mutex_lock(&lock);
}

static void end_fork(void)
{
    if (!has_fork)
        return;
    pthread_mutex_unlock(&lock);
    has_fork = false;
    hm_notes_leave();
}

/* In the child the lock is made anew, as its owner is a thread of the parent; and its notes are its own. Files are
 * opened, where a thread can be cancelled; fork is no such place. */
static void end_fork_in_child(void)
{
    int before, number = errno;
    if (!has_fork)
        return;
    pthread_mutex_init(&lock, NULL);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    if (atomic_load(&state) == ON && !open_process())
        atomic_store(&state, OFF);
    pthread_setcancelstate(before, NULL);
    errno = number;
    has_fork = false;
    hm_notes_leave();
}

static bool begin_notes(void)
{
    folder = secure_getenv(HM_SITES_FOLDER);
    if (!folder || folder[0] != '/')
        return false;
    if (hm_stack_begin() < 0)
        return false;
    table = open_table();
    return table && open_process() && pthread_atfork(begin_fork, end_fork, end_fork_in_child) == 0;
}

/* Files are opened here, where a thread can be cancelled; malloc must not be such a place. */
static void begin(void)
{
    int before, number = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    atomic_store(&state, begin_notes() ? ON : OFF);
    pthread_setcancelstate(before, NULL);
    errno = number;
}

bool hm_notes_are_on(void)
{
    int found = atomic_load_explicit(&state, memory_order_acquire);
    if (found == NOT_ASKED && hm_notes_enter()) {
        pthread_once(&once, begin);
        hm_notes_leave();
        found = atomic_load(&state);
    }
    return found == ON;
}

/* ---------------------------------------------------------- small allocations */

static struct hm_sites_small *small_of(size_t bytes)
{
    if (shard == 0)
        shard = (unsigned)hm_least(atomic_fetch_add(&n_threads, 1), HM_SITES_SHARDS - 1) + 1;
    return &hm_blocks_process()->small[shard - 1][hm_sites_class(bytes)];
}

/* All shards but the last belong to one thread each, which needs no locked instruction. */
static void count(_Atomic uint64_t *sum, uint64_t amount)
{
    if (shard == HM_SITES_SHARDS)
        atomic_fetch_add_explicit(sum, amount, memory_order_relaxed);
    else
        atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + amount, memory_order_relaxed);
}

uint64_t hm_notes_least(void)
{
    return table->least_bytes;
}

void hm_notes_add_small(size_t bytes)
{
    struct hm_sites_small *small = small_of(bytes);
    count(&small->allocations, 1);
    count(&small->bytes, bytes);
}

void hm_notes_drop_small(size_t bytes)
{
    count(&small_of(bytes)->freed_bytes, bytes);
}

/* ---------------------------------------------------------- the others */

static void add_double(_Atomic double *sum, double value)
{
    double old = atomic_load_explicit(sum, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(sum, &old, old + value, memory_order_relaxed, memory_order_relaxed))
        ;
}

static void raise_to(_Atomic int64_t *peak, int64_t value)
{
    int64_t old = atomic_load_explicit(peak, memory_order_relaxed);
    while (old < value &&
           !atomic_compare_exchange_weak_explicit(peak, &old, value, memory_order_relaxed, memory_order_relaxed))
        ;
}

/* Counts bytes that a site has got, or, where negative, lost. */
static void count_bytes(struct hm_sites_entry *entry, int64_t bytes)
{
    raise_to(&entry->peak_bytes, atomic_fetch_add(&entry->live_bytes, bytes) + bytes);
    raise_to(&table->peak_bytes, atomic_fetch_add(&table->live_bytes, bytes) + bytes);
}

/* Is this process the one that the file is of? It is not in a child that was made without the handlers of fork, such as
 * one of vfork. */
static bool is_ours(void)
{
    return getpid() == owner;
}

/* Counts the end of a part of an allocation; `goes_on`: the allocation is another block now. */
static void count_part(const struct hm_blocks_part *part, bool goes_on)
{
    if (part->bytes == 0 || part->is_inherited || part->entry >= HM_SITES_ENTRIES)
        return;
    struct hm_sites_entry *entry = &table->entry[part->entry];
    double lived_s = (double)(hm_clock_ns(CLOCK_MONOTONIC) - part->born_ns) / 1e9;
    count_bytes(entry, -(int64_t)part->bytes);
    add_double(&entry->byte_s, (double)part->bytes * lived_s);
    if (part->is_last)
        add_double(&entry->lifetime_s, lived_s);
    if (part->is_last && !goes_on)
        atomic_fetch_add(&entry->ended, 1);
}

static void count_end(const struct hm_blocks_part *part)
{
    count_part(part, false);
}

/* A mapping in a call with an id is one of an allocator that the program has itself, for more than that call. */
static uint32_t site_of(const void *caller, bool is_mapping)
{
    struct hm_stack stack;
    if (HM_SITES_GIVEN != 0 && !is_mapping)
        return hm_stack_given_site(table, HM_SITES_GIVEN, caller);
    hm_stack_walk(caller, &stack);
    return hm_stack_site(table, &stack);
}

/* Notes a block; its bytes are counted, too. Returns whether there was room. `was`: as in blocks.h. */
static bool put(const void *memory, size_t bytes, uint32_t entry, bool is_mapping, const struct hm_blocks_part *was)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); /* the file may have to be opened, to grow */
    bool is_placed = entry < HM_SITES_ENTRIES && hm_place_begin(table, entry, memory, bytes);
    const struct hm_blocks_new new = {.address = (uintptr_t)memory,
                                      .bytes = bytes,
                                      .born_ns = hm_clock_ns(CLOCK_MONOTONIC),
                                      .entry = entry,
                                      .is_mapping = is_mapping,
                                      .is_placed = is_placed,
                                      .was = was};
    pthread_mutex_lock(&lock);
    struct hm_blocks_part unseen = hm_blocks_drop((uintptr_t)memory); /* another that was there, whose end was missed */
    bool is_noted = entry < HM_SITES_ENTRIES && hm_blocks_add(&new);
    pthread_mutex_unlock(&lock);
    pthread_setcancelstate(before, NULL);
    count_end(&unseen);
    if (unseen.is_placed)
        hm_place_forget();
    if (is_noted)
        count_bytes(&table->entry[entry], (int64_t)bytes);
    else
        atomic_fetch_add(&table->left_out, 1);
    if (is_placed && !is_noted)
        hm_place_forget();
    return is_noted;
}

static void note(const void *memory, size_t bytes, const void *caller, bool is_mapping)
{
    if (!is_ours())
        return;
    uint32_t entry = site_of(caller, is_mapping);
    if (!put(memory, bytes, entry, is_mapping, NULL))
        return;
    atomic_fetch_add(&table->entry[entry].allocations, 1);
    if (bytes < HM_SLICES_LARGE)
        atomic_fetch_add(&table->entry[entry].ordered_bytes, bytes);
}

void hm_notes_add(const void *memory, size_t bytes, const void *caller)
{
    note(memory, bytes, caller, false);
}

void hm_notes_map(const void *memory, size_t bytes, const void *caller)
{
    note(memory, bytes, caller, true);
}

void hm_notes_drop(const void *memory)
{
    if (!is_ours())
        return;
    pthread_mutex_lock(&lock);
    struct hm_blocks_part part = hm_blocks_drop((uintptr_t)memory);
    pthread_mutex_unlock(&lock);
    if (part.is_placed)
        hm_place_end(memory, part.bytes);
    count_end(&part);
}

/* Takes out what one mapping has in this range. */
static struct hm_blocks_part cut(const void *memory, size_t bytes)
{
    pthread_mutex_lock(&lock);
    struct hm_blocks_part part = hm_blocks_cut((uintptr_t)memory, bytes);
    pthread_mutex_unlock(&lock);
    if (part.is_placed && part.is_last)
        hm_place_forget();
    return part;
}

void hm_notes_unmap(const void *memory, size_t bytes)
{
    struct hm_blocks_part part;
    if (!is_ours())
        return;
    do {
        part = cut(memory, bytes);
        count_end(&part);
    } while (part.bytes > 0);
}

/* Of a part of a mapping, or of one that the process was forked with, there is a further allocation now. */
void hm_notes_remap(const void *memory, size_t bytes, const void *moved, size_t new_bytes)
{
    if (!is_ours())
        return;
    struct hm_blocks_part was = cut(memory, bytes);
    hm_notes_unmap(memory, bytes);    /* others of the range, which the kernel has as one */
    hm_notes_unmap(moved, new_bytes); /* what was there before, with MREMAP_FIXED */
    bool goes_on = was.is_last && !was.is_inherited;
    count_part(&was, goes_on);
    if (was.bytes == 0)
        return;
    if (!put(moved, new_bytes, was.entry, true, &was))
        atomic_fetch_add(&table->entry[was.entry].ended, goes_on);
    else if (!goes_on)
        atomic_fetch_add(&table->entry[was.entry].allocations, 1);
}

void hm_notes_end(void)
{
    if (!hm_notes_enter())
        return;
    if (atomic_load(&state) == ON && is_ours()) {
        atomic_store(&state, OFF);
        pthread_mutex_lock(&lock);
        for (struct hm_blocks_part part; (part = hm_blocks_drop_any()).entry < HM_SITES_ENTRIES;)
            count_end(&part);
        pthread_mutex_unlock(&lock);
    }
    hm_notes_leave();
}

void hm_notes_forget_code(void)
{
    hm_stack_forget();
}
