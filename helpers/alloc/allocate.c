/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pagesize.h"
#include "base/size.h"
#include "folders.h"
#include "kernel.h"
#include "layout.h"
#include "mappings.h"
#include "room.h"

#define HUGE_PAGE ((size_t)2 << 20)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct hm_layout layout;
static const char *folder_list; /* HYBRIDMEM_FSDAX_DIRS, NULL where it is not set */
/* Lane (place.h) of the next allocation's first block: each allocation goes on where the last one ended, so that small
 * allocations spread over the sockets, too. */
static unsigned next_lane;

static void look_around(void)
{
    hm_layout_read(&layout);
    folder_list = secure_getenv("HYBRIDMEM_FSDAX_DIRS");
}

static void say_what_moved(struct hm_known *known, const struct hm_placed *placed)
{
    char size[2][24];
    if (placed->moved_bytes > 0 && known->policy != HM_ALLOC_SPILL)
        hm_reason_add(known->reason, "%s of %s are elsewhere, as there is no room where the policy wants them",
                      hm_size_format(placed->moved_bytes, size[0], sizeof(size[0])),
                      hm_size_format(known->data_bytes, size[1], sizeof(size[1])));
    if (placed->overflow_bytes > 0)
        hm_reason_add(known->reason, "no node has room for %s of the allocation now: the kernel will look for some",
                      hm_size_format(placed->overflow_bytes, size[0], sizeof(size[0])));
}

/* Take a mapping for each run after the first. Where the library may not use that many, make the allocation one block,
 * and return false. */
static bool take_mappings(struct hm_known *known)
{
    size_t more = known->n_runs - 1;
    if (more == 0)
        return true;
    if (hm_mappings_take_for_blocks(more)) {
        known->n_mappings += more;
        return true;
    }
    hm_reason_add(known->reason,
                  "the allocation is one block, as more blocks would need more mappings than hybridmem may use");
    known->block_bytes = known->data_bytes;
    return false;
}

/* Give back all mappings of the allocation but `n`. */
static void give_mappings(struct hm_known *known, size_t n)
{
    hm_mappings_give(known->n_mappings - n);
    known->n_mappings = n;
}

/* Choose a place for each block. Returns 0, or -1 where nothing can be chosen; the reason says why. */
static int choose(struct hm_known *known, const struct hm_alloc_hint *hint, const struct hm_place_slices *fast,
                  struct hm_folders *folders)
{
    struct hm_place place;
    struct hm_placed placed;
    struct hm_set allowed;
    uint64_t room[HM_ALLOC_NODES];
    char said_before[HM_ALLOC_REASON] = ""; /* not read: gets the reasons again when the loop below is repeated */
    if (hm_kernel_allowed(&allowed) < 0) {
        hm_reason_add(known->reason, "the kernel does not tell the nodes that may be used: %s", strerror(errno));
        return -1;
    }
    const struct hm_layout_wish wish = {known->policy,       *hint,    folders->n, folders->socket,
                                        folders->room_bytes, &allowed, room};
    char *reason = known->reason;
    /* Repeated where too few mappings are left: the allocation is then one block. Also repeated where folders have too
     * little space: they are then left out. */
    do {
        give_mappings(known, HM_MAPPINGS_LEAST);
        hm_room_read(&layout, room);
        if (hm_layout_place(&layout, &wish, &place, reason) < 0)
            return -1;
        place.bytes = known->data_bytes;
        place.block_bytes = known->block_bytes;
        if (fast)
            place.first_slices = *fast;
        place.first_lane = (int)(next_lane % (unsigned)place.n_lanes);
        hm_place_blocks(&place, known->run, &placed);
        known->n_runs = placed.n_runs;
        reason = said_before;
    } while (!take_mappings(known) || hm_folders_reserve(folders, known->run, known->n_runs, known->reason) < 0);
    next_lane += (unsigned)((known->data_bytes - 1) / known->block_bytes + 1);
    say_what_moved(known, &placed);
    return 0;
}

static bool is_in_folders(const struct hm_known *known)
{
    for (size_t i = 0; i < known->n_runs; i++)
        if (known->run[i].folder >= 0)
            return true;
    return false;
}

/* Map the files and set the memory policies. Where the kernel refuses (a system call filter, no mapping left), the
 * memory stays where Linux places it. */
static int apply(struct hm_known *known, struct hm_folders *folders)
{
    hm_folders_map(folders, known->data, known->run, known->n_runs, known->reason);
    for (size_t i = 0; i < known->n_runs; i++) {
        const struct hm_alloc_run *run = &known->run[i];
        if (run->node >= 0 && hm_kernel_prefer(known->data + run->offset, run->bytes, run->node) < 0) {
            hm_reason_add(known->reason, "the kernel does not bind memory to node %d: %s", run->node, strerror(errno));
            /* With the default policy again, the data is one mapping: give back the mappings of its runs. Where the
             * default cannot be set, or the data has files in it, hm_deallocate gives them back. */
            if (hm_kernel_default(known->data, known->data_bytes) == 0 && !is_in_folders(known))
                give_mappings(known, HM_MAPPINGS_LEAST);
            return -1;
        }
    }
    return 0;
}

/* Make a new mapping for the data. Returns NULL (ENOMEM) where that is not possible. */
static struct hm_known *map(size_t size, size_t alignment, size_t hint_block_bytes)
{
    size_t page = hm_page_size();
    uint64_t block = size > HM_ALLOCATE_MOST ? 0 : hm_place_block_bytes(size, hint_block_bytes, page, HUGE_PAGE);
    struct hm_known *known = NULL;
    if (block > 0 && hm_mappings_take(HM_MAPPINGS_LEAST)) {
        known = hm_known_map(size, alignment, (size_t)((size - 1) / block + 1), page, HUGE_PAGE);
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
    hm_known_lock();
    if (choose(known, hint, fast, &folders) < 0 || apply(known, &folders) < 0)
        known->n_runs = known->block_bytes = 0;
    hm_room_take(&layout, known->run, known->n_runs);
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

static bool is_fast(int node)
{
    for (int i = 0; i < layout.n_nodes; i++)
        if (layout.node[i].id == node)
            return layout.node[i].is_fast;
    return false;
}

static size_t fast_bytes_of(const struct hm_known *known)
{
    size_t bytes = 0;
    for (size_t i = 0; i < known->n_runs; i++)
        if (is_fast(known->run[i].node))
            bytes += known->run[i].bytes;
    return bytes < known->bytes ? bytes : known->bytes;
}

static struct hm_allocated tell(const struct hm_known *known)
{
    return (struct hm_allocated){known->bytes, fast_bytes_of(known), known->is_marked};
}

bool hm_deallocate(void *memory, struct hm_allocated *was)
{
    hm_known_lock();
    struct hm_known *known = hm_known_find(memory);
    if (known) {
        if (was)
            *was = tell(known);
        hm_room_give(&layout, known->run, known->n_runs);
        hm_known_remove(known);
    }
    hm_known_unlock();
    if (known) {
        size_t n = known->n_mappings;
        hm_known_unmap(known);
        hm_mappings_give(n);
    }
    return known != NULL;
}

struct hm_allocated hm_allocated(const void *memory)
{
    hm_known_lock();
    const struct hm_known *known = hm_known_find(memory);
    struct hm_allocated found = known ? tell(known) : (struct hm_allocated){0};
    hm_known_unlock();
    return found;
}

void hm_allocated_mark(const void *memory)
{
    hm_known_lock();
    struct hm_known *known = hm_known_find(memory);
    if (known)
        known->is_marked = true;
    hm_known_unlock();
}
