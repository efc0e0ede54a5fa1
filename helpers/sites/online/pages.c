/* SPDX-License-Identifier: Apache-2.0 */
#include "pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/pagesize.h"

#define STRETCHES 65536 /* that are looked at; the smallest of more are left out */
#define LOOKS 16384     /* pages that are looked up, at least one by tier for each stretch */

static bool never_stop(void *data)
{
    (void)data;
    return false; /* a phase's moves are bounded by what is paid for */
}

int hm_online_pages_open(struct hm_online_pages *pages, const struct hm_set tiers[2], const struct hm_ranks *ranks,
                         struct hm_error *error)
{
    *pages = (struct hm_online_pages){.ranks = ranks};
    hm_devices_init(&pages->devices);
    if (hm_nodes_init(&pages->nodes, tiers, 2, UINT64_MAX, error) != 0)
        return -1;
    return hm_mover_init(&pages->mover, &pages->nodes, ranks, NULL, never_stop, NULL, error);
}

static void free_maps(struct hm_online_pages *pages)
{
    for (uint32_t i = 0; i < pages->n_maps; i++)
        hm_maps_free(&pages->maps[i]);
    free(pages->maps);
    pages->maps = NULL;
    pages->n_maps = 0;
}

static void free_stretches(struct hm_online_pages *pages)
{
    free(pages->extent);
    free(pages->shared);
    free(pages->entry);
    pages->extent = NULL;
    pages->shared = NULL;
    pages->entry = NULL;
    pages->n = 0;
}

void hm_online_pages_close(struct hm_online_pages *pages)
{
    free_maps(pages);
    free_stretches(pages);
    free(pages->process);
    if (pages->mover.batch)
        hm_mover_free(&pages->mover);
}

/* ---------------------------------------------------------- where it is */

struct stretch {
    uint64_t first, n_pages; /* as in decide/decide.h */
    uint32_t entry;
    bool is_inherited, is_promised; /* as in watch.h */
};

struct stretches {
    struct stretch *stretch;
    size_t n, room;
    bool has_forks; /* some are inherited */
};

/* Adds the whole pages of a range. What follows the last one, of the same site, is joined to it. */
static int add(struct stretches *list, uint32_t space, const struct hm_watch_range *range)
{
    uint64_t bytes = hm_page_size(), end = range->end / bytes, first = (range->start + bytes - 1) / bytes;
    struct stretch *last = list->n > 0 ? &list->stretch[list->n - 1] : NULL;
    if (first >= end || end >> HM_PAGE_BITS || range->start > UINT64_MAX - bytes)
        return 0;
    uint64_t from = HM_PAGE(space, first);
    bool is_alike = last && last->entry == range->entry && last->is_inherited == range->is_inherited &&
                    last->is_promised == range->is_promised;
    if (is_alike && from <= last->first + last->n_pages + 1 && from > last->first) {
        last->n_pages = hm_most(last->n_pages, from - last->first + (end - first));
        return 0;
    }
    if (list->n == list->room) {
        size_t room = list->room > 0 ? 2 * list->room : 1024;
        struct stretch *more = realloc(list->stretch, room * sizeof(*more));
        if (!more)
            return -1;
        list->stretch = more;
        list->room = room;
    }
    list->stretch[list->n++] =
        (struct stretch){from, end - first, range->entry, range->is_inherited, range->is_promised};
    list->has_forks |= range->is_inherited;
    return 0;
}

/* Leaves out the smallest, until there are not too many. */
static void thin(struct stretches *list)
{
    for (uint64_t least = 2; list->n > STRETCHES; least *= 2) {
        size_t n = 0;
        for (size_t i = 0; i < list->n; i++)
            if (list->stretch[i].n_pages >= least)
                list->stretch[n++] = list->stretch[i];
        list->n = n;
    }
}

static int collect(struct hm_online_pages *pages, const struct hm_watch *watch, struct stretches *list)
{
    int status = 0;
    for (size_t i = 0; i < watch->n && status == 0; i++) {
        int space = hm_ranks_space(pages->ranks, watch->watched[i].process.pid);
        if (space < 0 || (uint32_t)space >= pages->n_maps)
            continue;
        const struct hm_maps_reader reader = {
            .pid = watch->watched[i].process.pid, .space = (uint32_t)space, .devices = &pages->devices};
        if (hm_maps_read(&pages->maps[space], &reader, NULL) != 0)
            continue; /* it has ended */
        struct hm_watch_ranges ranges = hm_watch_read_ranges(watch->watched[i].fd);
        for (size_t k = 0; k < ranges.n && status == 0; k++)
            status = add(list, (uint32_t)space, &ranges.range[k]);
        free(ranges.range);
        thin(list); /* each process may have a million */
    }
    return status;
}

static int compare(const void *a, const void *b)
{
    const struct stretch *left = a, *right = b;
    return (left->first > right->first) - (left->first < right->first);
}

static int keep(struct hm_online_pages *pages, const struct stretches *list)
{
    pages->extent = calloc(list->n + 1, sizeof(*pages->extent));
    pages->shared = calloc(list->n + 1, sizeof(*pages->shared));
    pages->entry = calloc(list->n + 1, sizeof(*pages->entry));
    if (!pages->extent || !pages->shared || !pages->entry)
        return -1;
    if (list->n > 0)
        qsort(list->stretch, list->n, sizeof(*list->stretch), compare);
    pages->n = list->n;
    for (size_t i = 0; i < list->n; i++) {
        pages->extent[i].first = list->stretch[i].first;
        pages->extent[i].n_pages = list->stretch[i].n_pages;
        pages->entry[i] = list->stretch[i].entry;
    }
    return 0;
}

static struct hm_residence residence_of(const struct hm_online_pages *pages)
{
    return (struct hm_residence){pages->ranks, pages->maps, &pages->nodes, pages->mover.batch, NULL};
}

/* Counts what of the stretches is in the fast tier, or goes there when it is touched. */
static void count_fast(struct hm_online_pages *pages, const struct stretches *list)
{
    pages->fast_pages = 0;
    for (size_t i = 0; i < pages->n; i++) {
        const uint64_t *movable = pages->extent[i].tier_pages, *fixed = pages->shared[i].tier_pages;
        uint64_t fast = movable[0] + fixed[0], slow = movable[1] + fixed[1];
        pages->fast_pages += list->stretch[i].is_promised ? hm_less(list->stretch[i].n_pages, slow) : fast;
    }
}

/* Finds out where the stretches are. What a process has inherited and still shares is counted by the one that has
 * allocated it. */
static void locate(struct hm_online_pages *pages, const struct stretches *list)
{
    const struct hm_residence residence = residence_of(pages);
    if (!list->has_forks) {
        hm_residence_fill(&residence, pages->extent, pages->n, LOOKS);
        return;
    }
    hm_online_sharing_fill(&residence, pages->extent, pages->shared, pages->n, LOOKS);
    for (size_t i = 0; i < pages->n; i++)
        if (list->stretch[i].is_inherited)
            pages->shared[i] = (struct hm_online_shared){{0, 0}};
}

/* Forgets which pages could not be moved where a process has ended or has another number now: the numbers' pages are
 * others, and what it shared can be moved. Returns 0, or -1. */
static int follow(struct hm_online_pages *pages)
{
    const struct hm_ranks *ranks = pages->ranks;
    struct hm_process *now = calloc(ranks->n + 1, sizeof(*now));
    if (!now)
        return -1;
    for (uint32_t i = 0; i < ranks->n; i++)
        now[i] = (struct hm_process){ranks->rank[i].pid, ranks->rank[i].start_time};
    uint32_t first = 0, end = pages->n_processes;
    while (first < end && first < ranks->n && now[first].pid == pages->process[first].pid &&
           now[first].start_time == pages->process[first].start_time)
        first++;
    const struct hm_gone all = {0, HM_PAGE(end, 0)};
    if (first < end)
        hm_mover_forget(&pages->mover, &all, 1);
    free(pages->process);
    pages->process = now;
    pages->n_processes = ranks->n;
    return 0;
}

int hm_online_pages_read(struct hm_online_pages *pages, const struct hm_watch *watch)
{
    struct stretches list = {NULL, 0, 0, false};
    free_maps(pages);
    free_stretches(pages);
    pages->maps = calloc(pages->ranks->n + 1, sizeof(*pages->maps));
    pages->n_maps = pages->maps ? pages->ranks->n : 0;
    pages->mover.maps = pages->maps;
    int status = pages->maps && follow(pages) == 0 ? collect(pages, watch, &list) : -1;
    if (status == 0)
        status = keep(pages, &list);
    if (status == 0) {
        hm_nodes_refresh(&pages->nodes);
        locate(pages, &list);
        count_fast(pages, &list);
    }
    free(list.stretch);
    if (status != 0)
        errno = ENOMEM;
    return status;
}

void hm_online_pages_look(const struct hm_online_pages *pages, const uint64_t *page, int8_t *tier, size_t n)
{
    const struct hm_residence residence = residence_of(pages);
    hm_residence_look(&residence, page, tier, n);
}

uint64_t hm_online_pages_room(const struct hm_online_pages *pages)
{
    return hm_nodes_room(&pages->nodes, 0);
}
