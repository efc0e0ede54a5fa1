/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/pagesize.h"
#include "decide.h"
#include "folders.h"
#include "mappings.h"
#include "room.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *folder_list; /* HYBRIDMEM_FSDAX_DIRS, NULL where it is not set */

static void look_around(void)
{
    hm_decide_begin();
    folder_list = secure_getenv("HYBRIDMEM_FSDAX_DIRS");
}

/* Decide where the data is, and place it there. Where the kernel refuses (a system call filter, no mapping left), the
 * memory stays where Linux places it. */
static int place(struct hm_known *known, const struct hm_alloc_hint *hint, const struct hm_place_slices *fast,
                 struct hm_folders *folders)
{
    if (hm_decide(known, hint, fast, folders) < 0)
        return -1;
    hm_folders_map(folders, known->data, known->run, known->n_runs, known->reason);
    return hm_decide_bind(known, 0, false);
}

/* Make a new mapping for the data. Returns NULL (ENOMEM) where that is not possible. */
static struct hm_known *map(size_t size, size_t alignment, size_t hint_block_bytes)
{
    uint64_t block =
        size > HM_ALLOCATE_MOST ? 0 : hm_place_block_bytes(size, hint_block_bytes, hm_page_size(), HM_KNOWN_HUGE_PAGE);
    struct hm_known *known = NULL;
    if (block > 0 && hm_mappings_take(HM_MAPPINGS_LEAST)) {
        known = hm_known_map(size, alignment, (size_t)((size - 1) / block + 1), false);
        if (!known)
            hm_mappings_give(HM_MAPPINGS_LEAST);
    }
    if (!known) {
        errno = ENOMEM;
        return NULL;
    }
    known->block_bytes = block;
    known->n_mappings = HM_MAPPINGS_LEAST;
    return known;
}

static void discard(struct hm_known *known)
{
    size_t n = known->n_mappings;
    hm_known_unmap(known);
    hm_mappings_give(n);
}

static void *allocate(size_t size, size_t alignment, enum hm_alloc_policy policy, const struct hm_alloc_hint *hint,
                      const struct hm_place_slices *fast, char *reason)
{
    struct hm_folders folders = {0};
    struct hm_known *known = map(size, alignment, hint->block_bytes);
    if (!known)
        return NULL;
    pthread_once(&once, look_around);
    known->policy = policy;
    if (policy == HM_ALLOC_SPLIT && hint->use == HM_ALLOC_READ_MOSTLY)
        hm_folders_open(&folders, folder_list, known->reason);
    if (!hm_known_lock()) {
        hm_folders_close(&folders);
        discard(known);
        errno = ENOMEM;
        return NULL;
    }
    if (place(known, hint, fast, &folders) < 0)
        known->n_runs = known->block_bytes = 0;
    hm_room_take(hm_decide_layout(), known->run, known->n_runs);
    hm_known_add(known);
    hm_known_unlock();
    hm_folders_close(&folders);
    snprintf(reason, HM_ALLOC_REASON, "%s", known->reason);
    return known->data;
}

void *hm_allocate(size_t size, size_t alignment, enum hm_alloc_policy policy, const struct hm_alloc_hint *hint,
                  const struct hm_place_slices *fast, char *reason)
{
    int state;
    /* Reading the free memory of nodes opens files. A thread can be cancelled there, and would then keep the lock for
     * ever. malloc must not be a cancellation point either. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    void *memory = allocate(size, alignment, policy, hint, fast, reason);
    pthread_setcancelstate(state, NULL);
    return memory;
}

static struct hm_allocated tell(const struct hm_known *known)
{
    return (struct hm_allocated){known->bytes, hm_decide_fast_bytes(known), known->is_marked};
}

bool hm_deallocate(void *memory, struct hm_allocated *was)
{
    bool is_locked = hm_known_lock();
    struct hm_known *known = hm_known_find(memory);
    if (known && was)
        *was = is_locked ? tell(known) : (struct hm_allocated){0};
    if (known && is_locked) {
        hm_room_give(hm_decide_layout(), known->run, known->n_runs);
        hm_known_remove(known);
    }
    if (is_locked)
        hm_known_unlock();
    if (known && is_locked)
        discard(known);
    return known != NULL;
}

struct hm_allocated hm_allocated(const void *memory)
{
    bool is_locked = hm_known_lock();
    const struct hm_known *known = hm_known_find(memory);
    struct hm_allocated found = known ? tell(known) : (struct hm_allocated){0};
    if (is_locked)
        hm_known_unlock();
    return found;
}

void hm_allocated_mark(const void *memory)
{
    bool is_locked = hm_known_lock();
    struct hm_known *known = hm_known_find(memory);
    if (known)
        known->is_marked = true;
    if (is_locked)
        hm_known_unlock();
}
