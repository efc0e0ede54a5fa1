/* SPDX-License-Identifier: Apache-2.0 */
#include "pagecounts.h"

#include <stdlib.h>
#include <string.h>

#define FEWEST 1024     /* slots; a power of two, as all numbers of slots */
#define FREE UINT64_MAX /* no page */

static void empty(struct hm_page_counts *slot, size_t room)
{
    for (size_t i = 0; i < room; i++)
        slot[i].page = FREE;
}

/* The slot of a page, or the free one where it belongs. */
static struct hm_page_counts *find(struct hm_page_counts *slot, size_t room, uint64_t page)
{
    size_t at = (page * UINT64_C(0x9e3779b97f4a7c15)) >> 20 & (room - 1); /* 2^64 over the golden ratio */
    while (slot[at].page != page && slot[at].page != FREE)
        at = (at + 1) & (room - 1);
    return &slot[at];
}

/* Doubles the number of slots. Returns 0, or -1 (no memory). */
static int grow(struct hm_pagecounts *counts)
{
    size_t room = counts->room ? 2 * counts->room : FEWEST;
    struct hm_page_counts *slot = reallocarray(NULL, room, sizeof(*slot));
    if (!slot)
        return -1;
    empty(slot, room);
    for (size_t i = 0; i < counts->room; i++)
        if (counts->slot[i].page != FREE)
            *find(slot, room, counts->slot[i].page) = counts->slot[i];
    free(counts->slot);
    counts->slot = slot;
    counts->room = room;
    return 0;
}

struct hm_page_counts *hm_pagecounts_at(struct hm_pagecounts *counts, uint64_t page)
{
    if (counts->n >= counts->room / 2 && grow(counts) != 0)
        return NULL;
    struct hm_page_counts *found = find(counts->slot, counts->room, page);
    if (found->page == FREE) {
        *found = (struct hm_page_counts){.page = page};
        counts->n++;
    }
    return found;
}

static int compare(const void *a, const void *b)
{
    const struct hm_page_counts *x = a, *y = b;
    return (x->page > y->page) - (x->page < y->page);
}

void hm_pagecounts_sort(struct hm_pagecounts *counts)
{
    size_t n = 0;
    for (size_t i = 0; i < counts->room; i++)
        if (counts->slot[i].page != FREE)
            counts->slot[n++] = counts->slot[i];
    if (n > 1)
        qsort(counts->slot, n, sizeof(*counts->slot), compare);
}

void hm_pagecounts_clear(struct hm_pagecounts *counts)
{
    empty(counts->slot, counts->room);
    counts->n = 0;
}

void hm_pagecounts_free(struct hm_pagecounts *counts)
{
    free(counts->slot);
    *counts = (struct hm_pagecounts){0};
}
