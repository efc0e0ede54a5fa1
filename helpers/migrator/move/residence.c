/* SPDX-License-Identifier: Apache-2.0 */
#include "residence.h"

#define LOOKS_LEAST 2 /* least number of looks for an extent */
#define AT_ONCE 512   /* pages that are looked up together */

struct look { /* pages of one process that are to be looked up */
    const struct hm_residence *residence;
    uint32_t space;
    size_t n;
    uint64_t page[AT_ONCE];
    struct hm_extent *extent[AT_ONCE];
};

static bool is_there(const struct hm_residence *residence, uint32_t space)
{
    return space < residence->ranks->n && residence->ranks->rank[space].pid != 0 &&
           !residence->ranks->rank[space].is_gone;
}

/* Looks the pages up, and counts them in tier_pages of their extents. */
static void answer(struct look *look)
{
    int status[AT_ONCE];
    const struct hm_residence *residence = look->residence;
    size_t n = look->n;
    look->n = 0;
    if (n == 0 || hm_batch_query(residence->batch, residence->ranks->rank[look->space].pid, look->page, status, n) != 0)
        return;
    for (size_t i = 0; i < n; i++) {
        if (status[i] < 0)
            continue;
        if (hm_nodes_is_fast(residence->nodes, status[i]))
            look->extent[i]->tier_pages[0]++;
        else
            look->extent[i]->tier_pages[1]++;
    }
}

static void add(struct look *look, struct hm_extent *extent, uint64_t page)
{
    look->page[look->n] = page;
    look->extent[look->n++] = extent;
    if (look->n == AT_ONCE)
        answer(look);
}

/* Adds an even sample of the extent's mapped pages: the middle of each of `n` equal parts. */
static void sample(struct look *look, struct hm_extent *extent, uint64_t mapped, uint64_t n)
{
    const struct hm_maps *maps = &look->residence->maps[look->space];
    uint64_t first = HM_PAGE_NUMBER(extent->first), before = 0;
    size_t i = hm_maps_find(maps, first);
    for (uint64_t k = 0; k < n; k++) {
        /* The product cannot overflow: mapped is at most 2^44 (56 bits of addresses in user space), n below 2^18. */
        uint64_t skip = (2 * k + 1) * mapped / (2 * n);
        for (;; i++) {
            uint64_t from = maps->range[i].first > first ? maps->range[i].first : first;
            uint64_t length = maps->range[i].first + maps->range[i].n_pages - from;
            if (skip - before < length) {
                add(look, extent, from + (skip - before));
                break;
            }
            before += length;
        }
    }
}

/* Scales the counts of the sample up to the whole extent. */
static void scale(struct hm_extent *extent, uint64_t mapped, uint64_t n)
{
    double factor = (double)mapped / (double)n;
    extent->tier_pages[0] = (uint64_t)((double)extent->tier_pages[0] * factor + 0.5);
    extent->tier_pages[1] = (uint64_t)((double)extent->tier_pages[1] * factor + 0.5);
    if (extent->tier_pages[0] > mapped)
        extent->tier_pages[0] = mapped;
    if (extent->tier_pages[1] > mapped - extent->tier_pages[0])
        extent->tier_pages[1] = mapped - extent->tier_pages[0];
}

static uint64_t mapped_pages(const struct hm_residence *residence, const struct hm_extent *extent)
{
    uint32_t space = HM_PAGE_SPACE(extent->first);
    return is_there(residence, space)
               ? hm_maps_count(&residence->maps[space], HM_PAGE_NUMBER(extent->first), extent->n_pages)
               : 0;
}

size_t hm_residence_fill(const struct hm_residence *residence, struct hm_extent *extents, size_t count, size_t n_looks)
{
    struct look look = {.residence = residence};
    size_t n_done = 0;
    uint64_t share = count > 0 && n_looks / count > LOOKS_LEAST ? n_looks / count : LOOKS_LEAST;
    for (size_t r = 0; r < count; r++) {
        struct hm_extent *extent = &extents[r];
        uint32_t space = HM_PAGE_SPACE(extent->first);
        uint64_t mapped = mapped_pages(residence, extent);
        extent->tier_pages[0] = extent->tier_pages[1] = 0;
        if (space != look.space)
            answer(&look);
        look.space = space;
        if (mapped > 0)
            sample(&look, extent, mapped, mapped < share ? mapped : share);
        n_done += mapped < share ? mapped : share;
    }
    answer(&look);
    for (size_t r = 0; r < count; r++) {
        uint64_t mapped = mapped_pages(residence, &extents[r]);
        if (mapped > share)
            scale(&extents[r], mapped, share);
    }
    return n_done;
}

void hm_residence_look(const struct hm_residence *residence, const uint64_t *page, int8_t *is_fast, size_t count)
{
    uint64_t number[AT_ONCE];
    int status[AT_ONCE];
    for (size_t done = 0; done < count;) {
        uint32_t space = HM_PAGE_SPACE(page[done]);
        size_t n = 0;
        while (done + n < count && n < AT_ONCE && HM_PAGE_SPACE(page[done + n]) == space) {
            number[n] = HM_PAGE_NUMBER(page[done + n]);
            n++;
        }
        bool is_known = is_there(residence, space) &&
                        hm_batch_query(residence->batch, residence->ranks->rank[space].pid, number, status, n) == 0;
        for (size_t i = 0; i < n; i++)
            is_fast[done + i] = !is_known || status[i] < 0 ? -1 : hm_nodes_is_fast(residence->nodes, status[i]);
        done += n;
    }
}

struct gaps {
    struct hm_extent *gap;
    size_t n, room;
    uint64_t least; /* pages; smaller gaps are left out */
};

static void add_gap(struct gaps *gaps, uint32_t space, uint64_t first, uint64_t end)
{
    if (end <= first || end - first < gaps->least)
        return;
    if (gaps->n < gaps->room)
        gaps->gap[gaps->n] = (struct hm_extent){.first = HM_PAGE(space, first), .n_pages = end - first};
    gaps->n++;
}

static void find_gaps(const struct hm_residence *residence, const struct hm_extent *extents, size_t count,
                      struct gaps *gaps)
{
    size_t r = 0;
    gaps->n = 0;
    for (uint32_t space = 0; space < residence->ranks->n; space++) {
        const struct hm_maps *maps = &residence->maps[space];
        while (r < count && HM_PAGE_SPACE(extents[r].first) < space)
            r++;
        for (size_t i = 0; i < maps->n && is_there(residence, space); i++) {
            uint64_t at = maps->range[i].first, end = at + maps->range[i].n_pages;
            while (r < count && HM_PAGE_SPACE(extents[r].first) == space && at < end) {
                uint64_t first = HM_PAGE_NUMBER(extents[r].first), last = first + extents[r].n_pages;
                if (first >= end)
                    break;
                if (last > at) {
                    add_gap(gaps, space, at, first);
                    at = last;
                }
                if (last > end)
                    break;
                r++;
            }
            if (at < end)
                add_gap(gaps, space, at, end);
        }
    }
}

size_t hm_residence_gaps(const struct hm_residence *residence, const struct hm_extent *extents, size_t count,
                         struct hm_extent *gaps, size_t room)
{
    struct gaps found = {.gap = gaps, .room = room, .least = 1};
    do {
        find_gaps(residence, extents, count, &found);
        found.least *= 4;
    } while (found.n > room);
    return found.n;
}
