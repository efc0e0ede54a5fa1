/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and frees placed allocations, and keeps freed ones for others (kept.h). */
#include "allocate.h"
#include "allocateparts.h"
#include "base/amount.h"
#include "base/pagesize.h"
#include "decide.h"
#include "kept.h"
#include "mappings.h"
#include "room.h"

#define SPARE 8 /* kept memory may be larger than what it is to be by this part of it */

static void discard(struct hm_known *known)
{
    size_t n = known->n_mappings;
    hm_known_unmap(known);
    hm_mappings_give(n);
}

struct hm_known *hm_allocate_take_out_kept(bool all)
{
    struct hm_known *chain = hm_kept_take_out(all);
    for (const struct hm_known *known = chain; known; known = known->next)
        hm_room_give(hm_decide_layout(), known->run, known->n_runs);
    return chain;
}

void hm_allocate_discard(struct hm_known *chain)
{
    for (struct hm_known *next; chain; chain = next) {
        next = chain->next;
        discard(chain);
    }
}

static struct hm_allocated tell(const struct hm_known *known)
{
    return (struct hm_allocated){known->bytes, hm_decide_fast_bytes(known), known->is_marked};
}

/* Is all of it in the tier of its policy? realloc may have added what is elsewhere. */
static bool is_in_its_tier(const struct hm_known *known)
{
    for (size_t i = 0; i < known->n_runs; i++)
        if (known->run[i].node < 0 || hm_decide_is_fast(known->run[i].node) != (known->policy == HM_ALLOC_FAST))
            return false;
    return true;
}

static bool release(void *memory, bool may_keep, struct hm_allocated *was)
{
    struct hm_known *gone = NULL;
    bool is_locked = hm_known_lock();
    struct hm_known *known = hm_known_find(memory);
    if (known && was)
        *was = is_locked ? tell(known) : (struct hm_allocated){0};
    if (known && is_locked) {
        hm_known_remove(known);
        bool is_kept = may_keep && is_in_its_tier(known) && hm_kept_put(known);
        gone = hm_allocate_take_out_kept(false);
        if (!is_kept) {
            hm_room_give(hm_decide_layout(), known->run, known->n_runs);
            known->next = gone;
            gone = known;
        }
    }
    if (is_locked)
        hm_known_unlock();
    hm_allocate_discard(gone);
    return known != NULL;
}

bool hm_deallocate(void *memory, struct hm_allocated *was)
{
    return release(memory, false, was);
}

bool hm_deallocate_to_keep(void *memory, struct hm_allocated *was)
{
    return release(memory, true, was);
}

void *hm_allocate_kept(size_t size, size_t spare_bytes, size_t alignment, enum hm_alloc_policy policy)
{
    if (hm_kept_bytes() == 0 || size > HM_ALLOCATE_MOST / 2 || !hm_known_lock())
        return NULL;
    size_t whole = hm_whole_pages(size);
    struct hm_known *known =
        hm_kept_take(whole, whole + (size_t)hm_least(spare_bytes, size / SPARE), policy, alignment);
    if (known) {
        known->bytes = size;
        known->used_bytes = known->data_bytes == whole ? size : known->data_bytes;
        known->is_marked = false;
        hm_known_add(known);
    }
    hm_known_unlock();
    return known ? known->data : NULL;
}

void hm_give_back_kept(void)
{
    if (!hm_known_lock())
        return;
    struct hm_known *gone = hm_allocate_take_out_kept(true);
    hm_known_unlock();
    hm_allocate_discard(gone);
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
