/* SPDX-License-Identifier: Apache-2.0 */
#include "residence.h"

#include <errno.h>
#include <string.h>

#include "base/amount.h"
#include "migrator/watch/claims.h"

#define AT_ONCE 512 /* pages that are looked up together */

struct look { /* pages of one process that are to be looked up */
    const struct hm_residence *residence;
    uint32_t space;
    size_t n;
    uint64_t page[AT_ONCE];
    struct hm_extent *extent[AT_ONCE];
    double weight[AT_ONCE]; /* pages that each stands for */
};

struct elsewhere { /* pages that are to be looked up in one of the processes that map them besides */
    uint32_t space;
    size_t n;
    uint64_t page[AT_ONCE];
    uint32_t at[AT_ONCE]; /* in the list of the process where they have their home */
};

static void answer_elsewhere(const struct hm_residence *residence, struct elsewhere *there, int *status)
{
    int found[AT_ONCE];
    bool is_known =
        there->n > 0 && hm_ranks_is_there(residence->ranks, there->space) &&
        hm_batch_query(residence->batch, residence->ranks->rank[there->space].pid, there->page, found, there->n) == 0;
    for (size_t i = 0; i < there->n && is_known; i++)
        status[there->at[i]] = found[i] >= 0 ? found[i] : status[there->at[i]];
    there->n = 0;
}

/* The index of the first page that is not before `wanted`. */
static size_t find_page(const uint64_t *page, size_t count, uint64_t wanted)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (page[middle] >= wanted)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/*
 * Looks up pages, by ascending number, that have their home in process `space`, but are not in its page tables, in
 * those of the others that map them.
 */
static void look_elsewhere(const struct hm_residence *residence, uint32_t space, const uint64_t *page, int *status,
                           size_t count)
{
    struct elsewhere there = {.n = 0};
    struct hm_alias place = {0};
    size_t first = 0;
    while (first < count && status[first] != -ENOENT)
        first++;
    while (count > first && status[count - 1] != -ENOENT)
        count--;
    while (first < count && hm_claims_next(residence->maps, residence->ranks->n, HM_PAGE(space, page[first]),
                                           page[count - 1] + 1 - page[first], &place)) {
        uint64_t home = HM_PAGE_NUMBER(place.home);
        if (place.space != there.space)
            answer_elsewhere(residence, &there, status);
        there.space = place.space;
        for (size_t i = find_page(page, count, home); i < count && page[i] - home < place.range.n_pages; i++) {
            if (status[i] != -ENOENT || there.n == AT_ONCE)
                continue;
            there.at[there.n] = (uint32_t)i;
            there.page[there.n++] = place.range.first + (page[i] - home);
        }
    }
    answer_elsewhere(residence, &there, status);
}

/* Asks where pages of a process are, which are sorted. Returns false if that cannot be found out. */
static bool query(const struct hm_residence *residence, uint32_t space, const uint64_t *page, int *status, size_t count)
{
    if (hm_batch_query(residence->batch, residence->ranks->rank[space].pid, page, status, count) != 0)
        return false;
    if (residence->maps[space].n_mapped > 0)
        look_elsewhere(residence, space, page, status, count);
    return true;
}

/* Counts a page that the step's cgroup does not count. */
static void count_apart(const struct look *look, size_t i, unsigned tier)
{
    const struct hm_residence *residence = look->residence;
    if (!residence->apart)
        return;
    enum hm_memory_kind kind = hm_maps_kind(&residence->maps[look->space], look->page[i]);
    if (kind == HM_MEMORY_FILE || kind == HM_MEMORY_HUGETLB)
        residence->apart[tier] += look->weight[i];
}

/* Looks the pages up, and counts them in tier_pages of their extents. */
static void answer(struct look *look)
{
    int status[AT_ONCE];
    const struct hm_residence *residence = look->residence;
    size_t n = look->n;
    look->n = 0;
    if (n == 0 || !query(residence, look->space, look->page, status, n))
        return;
    for (size_t i = 0; i < n; i++) {
        if (status[i] < 0)
            continue;
        unsigned tier = hm_nodes_tier(residence->nodes, status[i]);
        look->extent[i]->tier_pages[tier]++;
        count_apart(look, i, tier);
    }
}

static void add(struct look *look, struct hm_extent *extent, uint64_t page, double weight)
{
    look->page[look->n] = page;
    look->weight[look->n] = weight;
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
                add(look, extent, from + (skip - before), (double)mapped / (double)n);
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
    uint64_t left = mapped;
    for (int tier = 0; tier < HM_MAX_TIERS; tier++) {
        uint64_t *pages = &extent->tier_pages[tier];
        *pages = hm_least((uint64_t)((double)*pages * factor + 0.5), left);
        left -= *pages;
    }
}

static uint64_t mapped_pages(const struct hm_residence *residence, const struct hm_extent *extent)
{
    uint32_t space = HM_PAGE_SPACE(extent->first);
    return hm_ranks_is_there(residence->ranks, space)
               ? hm_maps_count(&residence->maps[space], HM_PAGE_NUMBER(extent->first), extent->n_pages)
               : 0;
}

size_t hm_residence_fill(const struct hm_residence *residence, struct hm_extent *extents, size_t count, size_t n_looks)
{
    struct look look = {.residence = residence};
    size_t n_done = 0;
    uint64_t share = hm_most(count > 0 ? n_looks / count : 0, residence->nodes->n_tiers);
    for (size_t r = 0; r < count; r++) {
        struct hm_extent *extent = &extents[r];
        uint32_t space = HM_PAGE_SPACE(extent->first);
        uint64_t mapped = mapped_pages(residence, extent);
        memset(extent->tier_pages, 0, sizeof(extent->tier_pages));
        if (space != look.space)
            answer(&look);
        look.space = space;
        if (mapped > 0)
            sample(&look, extent, mapped, mapped < share ? mapped : share);
        n_done += mapped < share ? mapped : share;
    }
    answer(&look);
    for (size_t r = 0; r < count; r++) {
        uint64_t mapped = extents[r].n_pages > share ? mapped_pages(residence, &extents[r]) : 0;
        if (mapped > share)
            scale(&extents[r], mapped, share);
    }
    return n_done;
}

void hm_residence_look(const struct hm_residence *residence, const uint64_t *page, int8_t *tier, size_t count)
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
        bool is_known = hm_ranks_is_there(residence->ranks, space) && query(residence, space, number, status, n);
        for (size_t i = 0; i < n; i++)
            tier[done + i] = !is_known || status[i] < 0 ? -1 : (int8_t)hm_nodes_tier(residence->nodes, status[i]);
        done += n;
    }
}

struct gaps {
    const struct hm_residence *residence;
    bool any_unseen, is_unseen; /* there are processes of which not all is seen; their memory is what is wanted */
    struct hm_extent *gap;
    size_t n, room;
    uint64_t least; /* pages; smaller gaps are left out */
};

/* May any of this memory be in use without being seen? Of memory that others map, too, all of them have a say. */
static bool may_be_unseen(const struct gaps *gaps, uint32_t space, uint64_t first, uint64_t end)
{
    const struct hm_rank *rank = gaps->residence->ranks->rank;
    const struct hm_maps *maps = &gaps->residence->maps[space];
    struct hm_alias place = {0};
    if (!gaps->any_unseen || rank[space].has_unseen)
        return gaps->any_unseen;
    size_t i = hm_maps_find_mapped(maps, first);
    if (i == maps->n_mapped || maps->mapped[i].range.first >= end)
        return false;
    while (hm_claims_next(gaps->residence->maps, gaps->residence->ranks->n, HM_PAGE(space, first), end - first, &place))
        if (rank[place.space].has_unseen)
            return true;
    return false;
}

static void add_gap(struct gaps *gaps, uint32_t space, uint64_t first, uint64_t end)
{
    if (end <= first || end - first < gaps->least || may_be_unseen(gaps, space, first, end) != gaps->is_unseen)
        return;
    if (gaps->n < gaps->room)
        gaps->gap[gaps->n] = (struct hm_extent){.first = HM_PAGE(space, first), .n_pages = end - first};
    gaps->n++;
}

static void find_gaps(const struct hm_extent *extents, size_t count, struct gaps *gaps)
{
    const struct hm_residence *residence = gaps->residence;
    size_t r = 0;
    gaps->n = 0;
    for (uint32_t space = 0; space < residence->ranks->n; space++) {
        const struct hm_maps *maps = &residence->maps[space];
        while (r < count && HM_PAGE_SPACE(extents[r].first) < space)
            r++;
        for (size_t i = 0; i < maps->n && hm_ranks_is_there(residence->ranks, space); i++) {
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
                         bool is_unseen, struct hm_extent *gaps, size_t room)
{
    struct gaps found = {.residence = residence, .is_unseen = is_unseen, .gap = gaps, .room = room, .least = 1};
    for (uint32_t space = 0; space < residence->ranks->n && !found.any_unseen; space++)
        found.any_unseen = hm_ranks_is_there(residence->ranks, space) && residence->ranks->rank[space].has_unseen;
    if (is_unseen && !found.any_unseen)
        return 0;
    do {
        find_gaps(extents, count, &found);
        found.least *= 4;
    } while (found.n > room);
    return found.n;
}
