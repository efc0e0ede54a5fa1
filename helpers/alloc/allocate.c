/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "allocateparts.h"
#include "base/pagesize.h"
#include "decide.h"
#include "folders.h"
#include "kept.h"
#include "mappings.h"
#include "room.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *folder_list; /* HYBRIDMEM_FSDAX_DIRS, NULL where it is not set */

static void look_around(void)
{
    hm_decide_begin();
    folder_list = secure_getenv("HYBRIDMEM_FSDAX_DIRS");
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

/* Where the kernel refuses a file or a policy (a system call filter, no mapping left), the memory stays where Linux
 * places it. */
static int apply(struct hm_known *known, struct hm_folders *folders)
{
    hm_folders_map(folders, known->data, known->run, known->n_runs, known->reason);
    return hm_decide_bind(known, 0, false);
}

/* Places the memory, and gives the lock back. False: what was kept took the room that the policy would have, and was
 * given back, so that it can have it now. */
static bool place_known(struct hm_known *known, const struct hm_alloc_hint *hint, const struct hm_place_slices *fast,
                        struct hm_folders *folders, const struct hm_room_look *look, bool is_last)
{
    size_t block_bytes = known->block_bytes;
    hm_room_note(hm_decide_layout(), look);
    int status = hm_decide(known, hint, fast, folders);
    bool is_placed = !known->reason[0] || hm_kept_bytes() == 0 || is_last;
    if (is_placed) {
        if (status < 0 || apply(known, folders) < 0)
            known->n_runs = known->block_bytes = 0;
        hm_room_take(hm_decide_layout(), known->run, known->n_runs);
        hm_known_add(known);
    } else {
        known->block_bytes = block_bytes;
        known->reason[0] = '\0';
    }
    struct hm_known *gone = hm_allocate_take_out_kept(!is_placed);
    hm_known_unlock();
    hm_allocate_discard(gone);
    return is_placed;
}

static void *allocate(size_t size, size_t alignment, enum hm_alloc_policy policy, const struct hm_alloc_hint *hint,
                      const struct hm_place_slices *fast, char *reason)
{
    struct hm_folders folders = {0};
    struct hm_room_look look;
    struct hm_known *known = map(size, alignment, hint->block_bytes);
    if (!known && hm_kept_bytes() > 0) { /* it has addresses and mappings, too */
        hm_give_back_kept();
        known = map(size, alignment, hint->block_bytes);
    }
    if (!known)
        return NULL;
    pthread_once(&once, look_around);
    known->policy = policy;
    if (policy == HM_ALLOC_SPLIT && hint->use == HM_ALLOC_READ_MOSTLY)
        hm_folders_open(&folders, folder_list, known->reason);
    bool is_locked = true, is_placed = false;
    for (int tries = 0; is_locked && !is_placed; tries++) {
        hm_room_look(hm_decide_layout(), tries > 0, &look);
        is_locked = hm_known_lock();
        is_placed = is_locked && place_known(known, hint, fast, &folders, &look, tries > 0);
    }
    hm_folders_close(&folders);
    if (!is_placed) {
        hm_allocate_discard(known);
        errno = ENOMEM;
        return NULL;
    }
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
