/* SPDX-License-Identifier: Apache-2.0 */
#include "notes.h"

#include <pthread.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/pagesize.h"
#include "blocks.h"
#include "notesparts.h"
#include "place.h"
#include "sites/compile/given.h"
#include "sites/profile/slices.h"
#include "stack.h"

static atomic_uint n_threads;
static _Thread_local unsigned shard; /* this thread's, plus 1; 0: none yet */

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
    return hm_notes_table->least_bytes;
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
    raise_to(&hm_notes_table->peak_bytes, atomic_fetch_add(&hm_notes_table->live_bytes, bytes) + bytes);
}

/* Counts the beginning of an allocation. */
static void count_new(struct hm_sites_entry *entry, const struct hm_blocks_new *new)
{
    int64_t none = 0;
    if (atomic_load_explicit(&entry->born_ns, memory_order_relaxed) == none)
        atomic_compare_exchange_strong(&entry->born_ns, &none, (int64_t) new->born_ns);
    count_bytes(entry, (int64_t) new->bytes);
}

/* Counts the end of a part of an allocation; `goes_on`: the allocation is another block now. */
static void count_part(const struct hm_blocks_part *part, bool goes_on)
{
    if (part->bytes == 0 || part->is_inherited || part->entry >= HM_SITES_ENTRIES)
        return;
    struct hm_sites_entry *entry = &hm_notes_table->entry[part->entry];
    uint64_t now_ns = hm_clock_ns(CLOCK_MONOTONIC);
    double lived_s = (double)(now_ns - part->born_ns) / 1e9;
    count_bytes(entry, -(int64_t)part->bytes);
    raise_to(&entry->ended_ns, (int64_t)now_ns);
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

/* What is noted. */
enum kind { ALLOCATION, MAPPING, SHARED_MAPPING };

/* A mapping in a call with an id is one of an allocator that the program has itself, for more than that call. */
static uint32_t site_of(const void *caller, bool is_mapping)
{
    struct hm_stack stack;
    if (HM_SITES_GIVEN != 0 && !is_mapping)
        return hm_stack_given_site(hm_notes_table, HM_SITES_GIVEN, caller);
    hm_stack_walk(caller, &stack);
    return hm_stack_site(hm_notes_table, &stack);
}

/* What is gone of an allocation gives back what it has taken. */
static void forget_place(const struct hm_blocks_part *part)
{
    const struct hm_place_taken place = {part->is_placed && part->is_last, part->is_fast};
    hm_place_forget(hm_notes_table, place, part->bytes);
}

/* Notes a block; its bytes are counted, too. Returns whether there was room. `was`: as in blocks.h. */
static bool put(const void *memory, size_t bytes, uint32_t entry, enum kind kind, const struct hm_blocks_part *was)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); /* the file may have to be opened, to grow */
    struct hm_place_taken place = {false, false};
    /* A last page without the policy would divide the mapping, and mremap fails where it is for two. */
    if (entry < HM_SITES_ENTRIES)
        place = hm_place_begin(hm_notes_table, entry, memory, kind == ALLOCATION ? bytes : hm_whole_pages(bytes));
    const struct hm_blocks_new new = {.address = (uintptr_t)memory,
                                      .bytes = bytes,
                                      .born_ns = hm_clock_ns(CLOCK_MONOTONIC),
                                      .entry = entry,
                                      .is_mapping = kind != ALLOCATION,
                                      .is_shared = kind == SHARED_MAPPING,
                                      .is_placed = place.has_policy,
                                      .is_fast = place.is_fast,
                                      .was = was};
    hm_forklock_take(&hm_notes_lock);
    struct hm_blocks_part unseen = hm_blocks_drop((uintptr_t)memory); /* another that was there, whose end was missed */
    bool is_noted = entry < HM_SITES_ENTRIES && hm_blocks_add(&new);
    hm_forklock_give(&hm_notes_lock);
    pthread_setcancelstate(before, NULL);
    count_end(&unseen);
    forget_place(&unseen);
    if (is_noted) {
        count_new(&hm_notes_table->entry[entry], &new);
    } else {
        atomic_fetch_add(&hm_notes_table->left_out, 1);
        hm_place_forget(hm_notes_table, place, bytes);
    }
    return is_noted;
}

/* Data that realloc gives another size is in other slices then, and to place these anew would move all of it. */
static bool has_other_slices(uint64_t was_bytes, uint64_t bytes)
{
    return was_bytes >= HM_SLICES_LARGE && bytes >= HM_SLICES_LARGE && was_bytes != bytes;
}

static void note(const void *memory, size_t bytes, uint64_t was_bytes, const void *caller, enum kind kind)
{
    if (!hm_notes_are_ours())
        return;
    uint32_t entry = site_of(caller, kind != ALLOCATION);
    if (!put(memory, bytes, entry, kind, NULL))
        return;
    atomic_fetch_add(&hm_notes_table->entry[entry].allocations, 1);
    if (bytes < HM_SLICES_LARGE)
        atomic_fetch_add(&hm_notes_table->entry[entry].ordered_bytes, bytes);
    if (has_other_slices(was_bytes, bytes))
        atomic_store(&hm_notes_table->entry[entry].is_resized, 1);
}

void hm_notes_add(const void *memory, size_t bytes, uint64_t was_bytes, const void *caller)
{
    note(memory, bytes, was_bytes, caller, ALLOCATION);
}

void hm_notes_map(const void *memory, size_t bytes, bool is_shared, const void *caller)
{
    note(memory, bytes, 0, caller, is_shared ? SHARED_MAPPING : MAPPING);
}

uint64_t hm_notes_drop(const void *memory)
{
    if (!hm_notes_are_ours())
        return 0;
    hm_forklock_take(&hm_notes_lock);
    struct hm_blocks_part part = hm_blocks_drop((uintptr_t)memory);
    hm_forklock_give(&hm_notes_lock);
    hm_place_end(hm_notes_table, (struct hm_place_taken){part.is_placed, part.is_fast}, memory, part.bytes);
    count_end(&part);
    return part.bytes;
}

/* Takes out what one mapping has in this range. */
static struct hm_blocks_part cut(const void *memory, size_t bytes)
{
    hm_forklock_take(&hm_notes_lock);
    struct hm_blocks_part part = hm_blocks_cut((uintptr_t)memory, bytes);
    hm_forklock_give(&hm_notes_lock);
    forget_place(&part);
    return part;
}

void hm_notes_unmap(const void *memory, size_t bytes)
{
    struct hm_blocks_part part;
    if (!hm_notes_are_ours())
        return;
    do {
        part = cut(memory, bytes);
        count_end(&part);
    } while (part.bytes > 0);
}

void hm_notes_take(const void *memory, size_t bytes, struct hm_notes_taken *taken)
{
    taken->n = 0;
    if (!hm_notes_are_ours() || (uintptr_t)memory % hm_page_size() != 0) /* which mremap refuses */
        return;
    hm_forklock_take(&hm_notes_lock);
    while (taken->n < HM_NOTES_TAKEN) {
        struct hm_blocks_part part = hm_blocks_cut((uintptr_t)memory, bytes);
        if (part.bytes == 0)
            break;
        if (part.entry < HM_SITES_ENTRIES) /* else the program has written this */
            taken->part[taken->n++] = part;
    }
    hm_forklock_give(&hm_notes_lock);
}

/* Its bytes are counted still. Of a part of a mapping there is a further allocation then. */
static void put_back(const struct hm_blocks_part *part)
{
    int before;
    const struct hm_blocks_new again = {.address = part->address,
                                        .bytes = part->bytes,
                                        .born_ns = part->born_ns,
                                        .entry = part->entry,
                                        .is_mapping = true,
                                        .is_placed = part->is_placed && part->is_last,
                                        .is_fast = part->is_fast,
                                        .is_inherited = part->is_inherited,
                                        .is_shared = part->is_shared,
                                        .was = part};
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); /* as in `put` */
    hm_forklock_take(&hm_notes_lock);
    bool is_noted = hm_blocks_add(&again);
    hm_forklock_give(&hm_notes_lock);
    pthread_setcancelstate(before, NULL);
    if (is_noted && !part->is_last && !part->is_inherited)
        atomic_fetch_add(&hm_notes_table->entry[part->entry].allocations, 1);
    if (is_noted)
        return;
    atomic_fetch_add(&hm_notes_table->left_out, 1);
    count_end(part);
    forget_place(part);
}

void hm_notes_put_back(const struct hm_notes_taken *taken)
{
    for (size_t i = 0; i < taken->n; i++)
        put_back(&taken->part[i]);
}

/* Of a part of a mapping, or of one that the process was forked with or that stays, there is a further allocation now.
 */
void hm_notes_remap(const struct hm_notes_taken *taken, const void *moved, size_t new_bytes, bool stays)
{
    if (!hm_notes_are_ours())
        return;
    hm_notes_unmap(moved, new_bytes); /* what was there before, with MREMAP_FIXED */
    const struct hm_blocks_part *was = &taken->part[0];
    bool goes_on = taken->n > 0 && was->is_last && !was->is_inherited && !stays;
    if (stays)
        hm_notes_put_back(taken);
    for (size_t i = 0; i < taken->n && !stays; i++) {
        count_part(&taken->part[i], i == 0 && goes_on);
        forget_place(&taken->part[i]);
    }
    if (taken->n == 0)
        return;
    if (!was->is_last || was->bytes != new_bytes)
        atomic_store(&hm_notes_table->entry[was->entry].is_resized, 1);
    if (!put(moved, new_bytes, was->entry, was->is_shared ? SHARED_MAPPING : MAPPING, was))
        atomic_fetch_add(&hm_notes_table->entry[was->entry].ended, goes_on);
    else if (!goes_on)
        atomic_fetch_add(&hm_notes_table->entry[was->entry].allocations, 1);
}

void hm_notes_end(void)
{
    if (!hm_notes_enter())
        return;
    if (hm_notes_stop()) {
        hm_forklock_take(&hm_notes_lock);
        for (struct hm_blocks_part part; (part = hm_blocks_drop_any()).entry < HM_SITES_ENTRIES;) {
            forget_place(&part);
            count_end(&part);
        }
        hm_forklock_give(&hm_notes_lock);
    }
    hm_notes_leave();
}
