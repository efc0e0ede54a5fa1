/* SPDX-License-Identifier: Apache-2.0 */
#include "pages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 1024 /* pages */

static struct hm_rival *rival_of(struct hm_decider *decider)
{
    return (struct hm_rival *)decider;
}

struct hm_decider *hm_rival_new(const struct hm_algorithm *algorithm, const struct hm_decider_options *options,
                                size_t size)
{
    struct hm_decider *base = calloc(1, size);
    if (!base)
        return NULL;
    base->algorithm = algorithm;
    base->options = *options;
    base->bytes = size;
    return base;
}

void hm_rival_destroy(struct hm_decider *decider)
{
    struct hm_rival *rival = rival_of(decider);
    free(rival->page);
    free(rival->page_of);
    free(rival->order);
    free(rival->amount);
    free(decider->extent);
    free(decider->move);
    free(rival);
}

/*
 * Enlarges an array, from `from` to `to` elements; `array` is the address of the pointer to it, of whatever type.
 * Returns false, and changes nothing, if there is no memory.
 */
static bool enlarge(struct hm_rival *rival, void *array, size_t from, size_t to, size_t size)
{
    void *old;
    memcpy(&old, array, sizeof(old));
    void *enlarged = reallocarray(old, to, size);
    if (!enlarged)
        return false;
    memcpy(array, &enlarged, sizeof(enlarged));
    rival->base.bytes += (to - from) * size;
    return true;
}

/* The page's record, or NULL: it has none, or came in this phase. */
static struct hm_rival_page *find(const struct hm_rival *rival, uint64_t page)
{
    size_t low = 0, high = rival->n_sorted;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rival->page[middle].page < page)
            low = middle + 1;
        else
            high = middle;
    }
    return low < rival->n_sorted && rival->page[low].page == page ? &rival->page[low] : NULL;
}

/* A record for a new page. Returns NULL if there is no memory. */
static struct hm_rival_page *append(struct hm_rival *rival, uint64_t page)
{
    if (rival->n_pages == rival->page_room) {
        size_t room = rival->page_room ? 2 * rival->page_room : FIRST_ROOM;
        if (!enlarge(rival, &rival->page, rival->page_room, room, sizeof(*rival->page)))
            return NULL;
        rival->page_room = room;
    }
    rival->page[rival->n_pages] = (struct hm_rival_page){.page = page};
    return &rival->page[rival->n_pages++];
}

void hm_rival_observe(struct hm_decider *decider, const struct hm_observation *observations, size_t count)
{
    struct hm_rival *rival = rival_of(decider);
    for (size_t i = 0; i < count; i++) {
        const struct hm_observation *seen = &observations[i];
        struct hm_rival_page *page = NULL;
        if (hm_observation_is_valid(seen)) {
            page = find(rival, seen->page);
            page = page ? page : append(rival, seen->page);
        }
        if (!page) {
            decider->dropped++;
            continue;
        }
        page->new_reads += seen->reads;
        page->new_writes += seen->writes;
    }
}

static int compare_pages(const void *a, const void *b)
{
    const struct hm_rival_page *x = a, *y = b;
    return (x->page > y->page) - (x->page < y->page);
}

void hm_rival_begin_end(struct hm_rival *rival)
{
    size_t kept = 0;
    rival->n_phases++;
    if (rival->n_pages > rival->n_sorted)
        qsort(rival->page, rival->n_pages, sizeof(*rival->page), compare_pages);
    for (size_t i = 0; i < rival->n_pages; i++) {
        if (kept > 0 && rival->page[kept - 1].page == rival->page[i].page) {
            rival->page[kept - 1].new_reads += rival->page[i].new_reads;
            rival->page[kept - 1].new_writes += rival->page[i].new_writes;
        } else {
            rival->page[kept++] = rival->page[i];
        }
    }
    rival->n_pages = rival->n_sorted = kept;
}

void hm_rival_forget(struct hm_decider *decider, const struct hm_gone *gone, size_t n)
{
    struct hm_rival *rival = rival_of(decider);
    size_t kept = 0, sorted = 0;
    for (size_t i = 0; i < rival->n_pages; i++) {
        size_t at = hm_gone_find(gone, n, rival->page[i].page);
        if (at < n && gone[at].first <= rival->page[i].page)
            continue;
        sorted += i < rival->n_sorted;
        rival->page[kept++] = rival->page[i];
    }
    rival->n_pages = kept;
    rival->n_sorted = sorted;
}

/* The first page of the next process. */
static uint64_t end_of_space(uint64_t page)
{
    return (page | (HM_PAGE(1, UINT64_C(0)) - 1)) + 1;
}

static bool make_room(struct hm_rival *rival, size_t n)
{
    size_t from = rival->extent_room;
    if (n <= from)
        return true;
    /* If one fails, those before it are larger than extent_room says. That does no harm. */
    if (!enlarge(rival, &rival->base.extent, from, n, sizeof(*rival->base.extent)) ||
        !enlarge(rival, &rival->base.move, from, n, sizeof(*rival->base.move)) ||
        !enlarge(rival, &rival->page_of, from, n, sizeof(*rival->page_of)) ||
        !enlarge(rival, &rival->order, from, n, sizeof(*rival->order)) ||
        !enlarge(rival, &rival->amount, from, n, sizeof(*rival->amount)))
        return false;
    rival->extent_room = n;
    return true;
}

static void add_extent(struct hm_rival *rival, uint64_t first, uint64_t n_pages, uint32_t index)
{
    struct hm_rival_page *page = index == HM_RIVAL_HOLE ? NULL : &rival->page[index];
    if (n_pages == 0)
        return;
    rival->page_of[rival->base.n_extents] = index;
    rival->base.extent[rival->base.n_extents++] =
        (struct hm_extent){.first = first,
                           .n_pages = n_pages,
                           .reads = page ? page->new_reads : 0,
                           .writes = page ? page->new_writes : 0,
                           .noise = page ? sqrt(page->new_reads + page->new_writes) : 0,
                           .phases = rival->n_phases};
}

void hm_rival_make_extents(struct hm_rival *rival)
{
    uint64_t reached = 0;
    rival->base.n_extents = 0;
    /* Each page has a hole before it, and one after it where it is the last of its process. Indexes have 32 bits. */
    if (rival->n_pages >= HM_RIVAL_HOLE / 3 || !make_room(rival, 3 * rival->n_pages + 1))
        return;
    for (size_t i = 0; i < rival->n_pages; i++) {
        struct hm_rival_page *page = &rival->page[i];
        uint64_t space = HM_PAGE(HM_PAGE_SPACE(page->page), UINT64_C(0)), end = end_of_space(page->page);
        reached = reached > space ? reached : space;
        add_extent(rival, reached, page->page - reached, HM_RIVAL_HOLE);
        add_extent(rival, page->page, 1, (uint32_t)i);
        reached = page->page + 1;
        if (i + 1 == rival->n_pages || rival->page[i + 1].page >= end)
            add_extent(rival, reached, end - reached, HM_RIVAL_HOLE);
        page->new_reads = page->new_writes = 0;
    }
}
