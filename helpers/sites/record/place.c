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

/* The tier of the entry's new memory. ANY: where the process's policy has it, which is that of the fast tier. */
static unsigned tier_of(const struct hm_sites_table *table, uint32_t entry, size_t bytes)
{
    unsigned tier = atomic_load_explicit(&table->entry[entry].tier, memory_order_relaxed);
    int64_t live = atomic_load_explicit(&table->live_bytes, memory_order_relaxed);
    bool fits = bytes <= table->fast_bytes && live <= (int64_t)(table->fast_bytes - bytes);
    return tier == HM_SITES_ANY && !fits ? HM_SITES_SLOW : tier;
}

bool hm_place_begin(const struct hm_sites_table *table, uint32_t entry, const void *memory, size_t bytes)
{
    unsigned tier = tier_of(table, entry, bytes);
    const struct hm_set *nodes = tier == HM_SITES_FAST ? &table->fast_nodes : &table->slow_nodes;
    void *first;
    if (tier == HM_SITES_ANY || bytes < HM_ALLOC_LEAST || hm_set_is_empty(nodes) || !hm_mappings_take(MAPPINGS))
        return false;
    size_t length = pages_of(memory, bytes, &first);
    if (hm_kernel_prefer_any(first, length, nodes) == 0)
        return true;
    hm_place_forget();
    return false;
}

void hm_place_end(const void *memory, size_t bytes)
{
    void *first;
    size_t length = pages_of(memory, bytes, &first);
    (void)hm_kernel_default(first, length);
    hm_place_forget();
}

void hm_place_forget(void)
{
    hm_mappings_give(MAPPINGS);
}
