/* SPDX-License-Identifier: Apache-2.0 */
#include "limit.h"

#include "base/amount.h"

#define UNIT_SHIFT 12
#define SIZE_BITS 28 /* of a mapping's size: up to 1 TiB */
#define MOST_UNITS ((UINT64_C(1) << SIZE_BITS) - 1)
#define ADDRESS_BITS (64 - SIZE_BITS)

uint64_t hm_limit_take(struct hm_limit *limit, uint64_t bytes, uint64_t least)
{
    if (limit->most_bytes == UINT64_MAX)
        return bytes;
    uint64_t used = atomic_load_explicit(&limit->used, memory_order_relaxed), taken;
    do {
        uint64_t left = used < limit->most_bytes ? limit->most_bytes - used : 0;
        taken = bytes <= left ? bytes : left >= least ? left : 0;
    } while (taken > 0 && !atomic_compare_exchange_weak(&limit->used, &used, used + taken));
    return taken;
}

void hm_limit_add(struct hm_limit *limit, uint64_t bytes)
{
    if (limit->most_bytes != UINT64_MAX)
        atomic_fetch_add(&limit->used, bytes);
}

uint64_t hm_limit_left(const struct hm_limit *limit)
{
    return limit->most_bytes == UINT64_MAX ? UINT64_MAX : hm_less(limit->most_bytes, atomic_load(&limit->used));
}

void hm_limit_give(struct hm_limit *limit, uint64_t bytes)
{
    if (limit->most_bytes != UINT64_MAX)
        atomic_fetch_sub(&limit->used, bytes);
}

/* ---------------------------------------------------------- mappings */

struct range {
    uint64_t start, end; /* in units; empty where they are equal */
};

/* The units that a range of addresses has a part of. */
static struct range range_of(const void *memory, size_t bytes)
{
    uint64_t start = (uintptr_t)memory;
    return (struct range){start >> UNIT_SHIFT, (start + bytes + (1 << UNIT_SHIFT) - 1) >> UNIT_SHIFT};
}

static uint64_t pack(struct range range)
{
    return range.start << SIZE_BITS | (range.end - range.start);
}

static struct range unpack(uint64_t word)
{
    return (struct range){word >> SIZE_BITS, (word >> SIZE_BITS) + (word & MOST_UNITS)};
}

/* Has a slot room for such a range? */
static bool is_notable(struct range range)
{
    return range.end - range.start <= MOST_UNITS && range.start >> ADDRESS_BITS == 0;
}

/* Notes a range. False: it is too large, or no slot is free. */
static bool note(struct hm_limit *limit, struct range range)
{
    uint64_t none;
    if (!is_notable(range))
        return false;
    for (unsigned i = 0; i < HM_LIMIT_MAPPINGS; i++) {
        unsigned n = atomic_load(&limit->n_mappings);
        while (n <= i && !atomic_compare_exchange_weak(&limit->n_mappings, &n, i + 1))
            ;
        none = 0;
        if (atomic_load(&limit->mapping[i]) == 0 &&
            atomic_compare_exchange_strong(&limit->mapping[i], &none, pack(range)))
            return true;
    }
    return false;
}

static uint64_t bytes_of(struct range range)
{
    return (range.end - range.start) << UNIT_SHIFT;
}

enum hm_limit_taken hm_limit_map(struct hm_limit *limit, const void *memory, size_t bytes)
{
    struct range range = range_of(memory, bytes);
    if (limit->most_bytes == UINT64_MAX)
        return HM_LIMIT_TAKEN;
    if (!is_notable(range) || hm_limit_take(limit, bytes_of(range), bytes_of(range)) == 0)
        return HM_LIMIT_NO_ROOM;
    if (note(limit, range))
        return HM_LIMIT_TAKEN;
    hm_limit_give(limit, bytes_of(range));
    return HM_LIMIT_NO_SLOT;
}

void hm_limit_note(struct hm_limit *limit, const void *memory, size_t bytes)
{
    struct range range = range_of(memory, bytes);
    if (limit->most_bytes != UINT64_MAX && note(limit, range))
        hm_limit_add(limit, bytes_of(range));
}

static bool is_empty(struct range range)
{
    return range.start == range.end;
}

/* Takes a range out of a slot, and notes what remains of it. Returns the bytes that were taken out, of which those in
 * the range become `found`. What remains stays in the slot, so that another thread that unmaps some of it now finds it.
 * Where that is two ranges, the second has another slot, or is given back, too. */
static uint64_t cut(struct hm_limit *limit, _Atomic uint64_t *slot, struct range gone, struct range *found)
{
    uint64_t word = atomic_load(slot);
    struct range before, low, high, kept;
    do {
        before = unpack(word);
        if (word == 0 || gone.end <= before.start || before.end <= gone.start)
            return 0;
        low = (struct range){before.start, hm_most(before.start, gone.start)};
        high = (struct range){hm_least(gone.end, before.end), before.end};
        kept = is_empty(low) ? high : low;
    } while (!atomic_compare_exchange_weak(slot, &word, is_empty(kept) ? 0 : pack(kept)));
    *found = (struct range){low.end, high.start};
    uint64_t bytes = bytes_of(before) - bytes_of(kept);
    if (!is_empty(low) && !is_empty(high) && note(limit, high))
        bytes -= bytes_of(high);
    return bytes;
}

static void add_range(struct hm_limit_ranges *ranges, size_t from, size_t to)
{
    if (!ranges || ranges->n == HM_LIMIT_RANGES)
        return;
    size_t at = ranges->n++;
    for (; at > 0 && ranges->range[at - 1].from > from; at--)
        ranges->range[at] = ranges->range[at - 1];
    ranges->range[at].from = from;
    ranges->range[at].to = to;
}

uint64_t hm_limit_take_out(struct hm_limit *limit, const void *memory, size_t bytes, struct hm_limit_ranges *ranges)
{
    struct range gone = range_of(memory, bytes), found;
    uint64_t given = 0;
    for (unsigned i = 0; i < atomic_load_explicit(&limit->n_mappings, memory_order_relaxed); i++) {
        uint64_t cut_bytes = cut(limit, &limit->mapping[i], gone, &found);
        if (cut_bytes > 0)
            add_range(ranges, (found.start - gone.start) << UNIT_SHIFT, (found.end - gone.start) << UNIT_SHIFT);
        given += cut_bytes;
    }
    if (given > 0)
        hm_limit_give(limit, given);
    return given;
}

uint64_t hm_limit_unmap(struct hm_limit *limit, const void *memory, size_t bytes)
{
    return hm_limit_take_out(limit, memory, bytes, NULL);
}
