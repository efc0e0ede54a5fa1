/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include "alloc/hybridmem.h"
#include "alloc/kernel.h"
#include "alloc/mappings.h"
#include "base/pagesize.h"

#define MAPPINGS 2 /* that a policy in the middle of a mapping makes more */

/* The whole pages of the allocation. Returns their bytes. */
static size_t pages_of(const void *memory, size_t bytes, void **first)
{
    uintptr_t page = hm_page_size(), start = ((uintptr_t)memory + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)memory + bytes) & ~(page - 1);
    *first = (void *)start;
    return end > start ? end - start : 0;
}

/* Takes the bytes of what is left of the fast tier. Returns whether there was enough. */
static bool take_fast(struct hm_sites_table *table, size_t bytes)
{
    int64_t left = atomic_load_explicit(&table->fast_left, memory_order_relaxed);
    do
        if (left < 0 || (uint64_t)left < bytes)
            return false;
    while (!atomic_compare_exchange_weak_explicit(&table->fast_left, &left, left - (int64_t)bytes, memory_order_relaxed,
                                                  memory_order_relaxed));
    return true;
}

/* Would all sites have no more than the fast tier, wherever their memory is? Small allocations count, too. */
static bool fits(const struct hm_sites_table *table, size_t bytes)
{
    int64_t live = atomic_load_explicit(&table->live_bytes, memory_order_relaxed);
    return bytes <= table->fast_bytes && live <= (int64_t)(table->fast_bytes - bytes);
}

static bool set_policy(const void *memory, size_t bytes, const struct hm_set *nodes)
{
    void *first;
    size_t length = pages_of(memory, bytes, &first);
    if (!hm_mappings_take(MAPPINGS))
        return false;
    if (hm_kernel_prefer_any(first, length, nodes) == 0)
        return true;
    hm_mappings_give(MAPPINGS);
    return false;
}

/* A site of which nothing is known has its memory where the process's policy has it, which is that of the fast tier. */
struct hm_place_taken hm_place_begin(struct hm_sites_table *table, uint32_t entry, const void *memory, size_t bytes)
{
    struct hm_place_taken place = {false, false};
    if (bytes < HM_ALLOC_LEAST || hm_set_is_empty(&table->fast_nodes) || hm_set_is_empty(&table->slow_nodes))
        return place;
    unsigned tier = atomic_load_explicit(&table->entry[entry].tier, memory_order_relaxed);
    bool may_be_fast = tier == HM_SITES_FAST || (tier == HM_SITES_ANY && fits(table, bytes));
    place.is_fast = may_be_fast && take_fast(table, bytes);
    if (tier != HM_SITES_ANY || !place.is_fast)
        place.has_policy = set_policy(memory, bytes, place.is_fast ? &table->fast_nodes : &table->slow_nodes);
    return place;
}

void hm_place_end(struct hm_sites_table *table, struct hm_place_taken place, const void *memory, size_t bytes)
{
    void *first;
    size_t length = pages_of(memory, bytes, &first);
    if (place.has_policy)
        (void)hm_kernel_default(first, length);
    hm_place_forget(table, place, bytes);
}

void hm_place_forget(struct hm_sites_table *table, struct hm_place_taken place, size_t bytes)
{
    if (place.has_policy)
        hm_mappings_give(MAPPINGS);
    if (place.is_fast)
        hm_sites_give_fast(table, bytes);
}
