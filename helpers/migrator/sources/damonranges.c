/* SPDX-License-Identifier: Apache-2.0 */
#include "damonranges.h"

#include <stddef.h>

#define PAGE_SHIFT 12
#define LOST 0.02 /* of the pages: small pieces far from each other */
#define GAP_GROWTH 4
#define STILL_LOST 0.05
#define MOST_HOLES 2 /* the ranges' length, as a multiple of the pages in them */

struct piece {
    uint64_t first, end; /* pages, with the gaps in it */
    uint64_t n_pages;    /* without */
};

struct pieces {
    struct piece piece[HM_DAMON_RANGES]; /* the largest so far, ascending by address */
    size_t n;
};

static size_t find_smallest(const struct pieces *kept)
{
    size_t smallest = 0;
    for (size_t i = 1; i < kept->n; i++)
        if (kept->piece[i].n_pages < kept->piece[smallest].n_pages)
            smallest = i;
    return smallest;
}

/* Behind all that are kept. The smallest gives way where there are too many. */
static void keep(struct pieces *kept, struct piece piece)
{
    if (kept->n == HM_DAMON_RANGES) {
        size_t smallest = find_smallest(kept);
        if (kept->piece[smallest].n_pages >= piece.n_pages)
            return;
        for (size_t i = smallest; i + 1 < kept->n; i++)
            kept->piece[i] = kept->piece[i + 1];
        kept->n--;
    }
    kept->piece[kept->n++] = piece;
}

/* The largest pieces where gaps up to `gap` pages are closed. Returns the pages in them. */
static uint64_t join(const struct hm_maps *maps, uint64_t gap, struct pieces *kept)
{
    struct piece piece = {0};
    uint64_t held = 0;
    kept->n = 0;
    for (size_t i = 0; i < maps->n; i++) {
        const struct hm_range *range = &maps->range[i];
        if (i > 0 && range->first - piece.end > gap) {
            keep(kept, piece);
            piece = (struct piece){0};
        }
        piece.first = piece.n_pages > 0 ? piece.first : range->first;
        piece.end = range->first + range->n_pages;
        piece.n_pages += range->n_pages;
    }
    if (piece.n_pages > 0)
        keep(kept, piece);
    for (size_t i = 0; i < kept->n; i++)
        held += kept->piece[i].n_pages;
    return held;
}

/* So much of the process's memory, which may be less than is mapped. */
static double part(const struct hm_maps *maps, uint64_t resident, double share)
{
    return share * (double)(resident < maps->n_pages ? resident : maps->n_pages);
}

void hm_damon_ranges_choose(const struct hm_maps *maps, uint64_t resident, struct hm_damon_process *process)
{
    struct pieces kept;
    for (uint64_t gap = 0;; gap = gap * GAP_GROWTH + 1)
        if ((double)(maps->n_pages - join(maps, gap, &kept)) <= part(maps, resident, LOST))
            break; /* at the latest where all is one piece */
    process->n_ranges = (uint32_t)kept.n;
    for (size_t i = 0; i < kept.n; i++)
        process->range[i] = (struct hm_damon_range){kept.piece[i].first << PAGE_SHIFT, kept.piece[i].end << PAGE_SHIFT};
}

/* Pages, with the holes in them. */
static uint64_t measure_length(const struct hm_damon_process *process)
{
    uint64_t length = 0;
    for (uint32_t i = 0; i < process->n_ranges; i++)
        length += (process->range[i].end >> PAGE_SHIFT) - (process->range[i].start >> PAGE_SHIFT);
    return length;
}

bool hm_damon_ranges_fit(const struct hm_damon_process *process, const struct hm_maps *maps, uint64_t resident)
{
    uint64_t held = 0, length = measure_length(process);
    for (uint32_t i = 0; i < process->n_ranges; i++) {
        uint64_t first = process->range[i].start >> PAGE_SHIFT;
        held += hm_maps_count(maps, first, (process->range[i].end >> PAGE_SHIFT) - first);
    }
    if ((double)(maps->n_pages - held) > part(maps, resident, STILL_LOST))
        return false;
    if (length <= MOST_HOLES * held)
        return true;
    /* More holes than pages: would others have fewer? */
    struct hm_damon_process better;
    hm_damon_ranges_choose(maps, resident, &better);
    return length <= MOST_HOLES * measure_length(&better);
}
