/* SPDX-License-Identifier: Apache-2.0 */
#include "damonranges.h"

#include <stddef.h>

#include "base/pagesize.h"

#define LOST 0.02       /* share of the pages that may be left out: small pieces far from each other */
#define GAP_GROWTH 4    /* gaps of up to g pages are closed, then up to 4 g + 1 */
#define STILL_LOST 0.05 /* share of the pages that may be outside before new ranges are chosen */
#define MOST_HOLES 2    /* ranges stay if they are at most this many times as long as their pages, or as new ranges */

struct piece {
    uint64_t first, end; /* page numbers; with the gaps in it */
    uint64_t n_pages;    /* without the gaps */
};

struct pieces {
    struct piece piece[HM_DAMON_RANGES]; /* the largest pieces so far, by ascending address */
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

/* Adds a piece after the others. If there are too many, the smallest piece is dropped. */
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

/* Makes pieces by closing gaps of up to `gap` pages, and keeps the largest. Returns the number of pages in them. */
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

/* A share of the process's memory: of its resident pages, or of the mapped ones if they are fewer. */
static double part(const struct hm_maps *maps, uint64_t resident, double share)
{
    return share * (double)(resident < maps->n_pages ? resident : maps->n_pages);
}

void hm_damon_ranges_choose(const struct hm_maps *maps, uint64_t resident, struct hm_damon_process *process)
{
    struct pieces kept;
    for (uint64_t gap = 0;; gap = gap * GAP_GROWTH + 1)
        if ((double)(maps->n_pages - join(maps, gap, &kept)) <= part(maps, resident, LOST))
            break; /* ends at the latest when everything is one piece */
    process->n_ranges = (uint32_t)kept.n;
    for (size_t i = 0; i < kept.n; i++)
        process->range[i] =
            (struct hm_damon_range){kept.piece[i].first << hm_page_shift(), kept.piece[i].end << hm_page_shift()};
}

/* Length of the ranges in pages, holes included. */
static uint64_t measure_length(const struct hm_damon_process *process)
{
    uint64_t length = 0;
    for (uint32_t i = 0; i < process->n_ranges; i++)
        length += (process->range[i].end >> hm_page_shift()) - (process->range[i].start >> hm_page_shift());
    return length;
}

bool hm_damon_ranges_fit(const struct hm_damon_process *process, const struct hm_maps *maps, uint64_t resident)
{
    uint64_t held = 0, length = measure_length(process);
    for (uint32_t i = 0; i < process->n_ranges; i++) {
        uint64_t first = process->range[i].start >> hm_page_shift();
        held += hm_maps_count(maps, first, (process->range[i].end >> hm_page_shift()) - first);
    }
    if ((double)(maps->n_pages - held) > part(maps, resident, STILL_LOST))
        return false;
    if (length <= MOST_HOLES * held)
        return true;
    /* More holes than pages: keep these ranges only if new ones would not be much shorter. */
    struct hm_damon_process better;
    hm_damon_ranges_choose(maps, resident, &better);
    return length <= MOST_HOLES * measure_length(&better);
}
