/* SPDX-License-Identifier: Apache-2.0 */
/* The shares of written pages in ranges: what the windows saw, and how it divides observations. No I/O. */
#include "parts.h"

#include <math.h>
#include <stdlib.h>

#include "base/search.h"

#define LEAST_TIME 4 /* a process that ran for less than 1 / LEAST_TIME of the usual time was hardly seen */

static int compare_ranges(const void *a, const void *b)
{
    uint64_t x = ((const struct hm_softdirty_range *)a)->page, y = ((const struct hm_softdirty_range *)b)->page;
    return x < y ? -1 : x > y;
}

/*
 * The share of written pages in these ranges; negative if no page was looked at. A range has the weight of its pages,
 * or, with `by_seen`, of those that were looked at.
 */
static double find_share(const struct hm_softdirty_range *range, uint32_t n, bool by_seen)
{
    double pages = 0, dirty = 0;
    for (uint32_t i = 0; i < n; i++) {
        double weight = range[i].seen == 0 ? 0 : by_seen ? range[i].seen : (double)range[i].n_pages;
        pages += weight;
        dirty += weight * (double)range[i].share;
    }
    return pages > 0 ? dirty / pages : -1;
}

/* Variance of a range's share by chance alone, if each page is written with probability `mean`. */
static double chance(double mean, const struct hm_softdirty_range *range)
{
    return mean * (1 - mean) / range->seen;
}

/*
 * Moves the shares of the ranges of one process towards their mean, as far as chance explains that they differ
 * (hm_softdirty_replace). What a window saw of other processes says nothing about chance in this one.
 */
static void shrink(struct hm_softdirty_range *range, uint32_t n)
{
    double mean = find_share(range, n, true), seen = 0, squares = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (range[i].seen == 0)
            continue;
        seen += range[i].seen;
        squares += range[i].seen * ((range[i].share - mean) * (range[i].share - mean) - chance(mean, &range[i]));
    }
    /* variance between ranges that chance does not explain */
    double real = seen > 0 && squares > 0 ? squares / seen : 0;
    for (uint32_t i = 0; i < n; i++)
        if (range[i].seen > 0 && mean > 0 && mean < 1)
            range[i].share = (float)(mean + (range[i].share - mean) * real / (real + chance(mean, &range[i])));
}

/* How many ranges from `first` on belong to the same process. */
static uint32_t count_alike(const struct hm_softdirty_ranges *ranges, uint32_t first)
{
    uint32_t end = first + 1;
    while (end < ranges->n && HM_PAGE_SPACE(ranges->range[end].page) == HM_PAGE_SPACE(ranges->range[first].page))
        end++;
    return end - first;
}

/*
 * The usual CPU seconds of a process in this window: the mean over the processes that were looked at, weighted by their
 * time, so that many waiting processes do not count. 0 if none ran, or nothing is known.
 */
static double find_usual(const struct hm_softdirty *softdirty)
{
    const struct hm_softdirty_ranges *wanted = &softdirty->wanted;
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < wanted->n; i += count_alike(wanted, i)) {
        double used_s = fmax(softdirty->process[HM_PAGE_SPACE(wanted->range[i].page)].used_s, 0);
        sum += used_s;
        squares += used_s * used_s;
    }
    return sum > 0 ? squares / sum : 0;
}

/*
 * The share of a process's pages that it would have written in `times` times its running time, if pages are written at
 * random moments. Calculated for each range by itself: the share of a range that is always written does not grow.
 */
static double share_in(const struct hm_softdirty_range *range, uint32_t n, double times)
{
    double pages = 0, dirty = 0;
    for (uint32_t i = 0; i < n; i++) {
        double weight = range[i].seen > 0 ? (double)range[i].n_pages : 0;
        pages += weight;
        dirty += weight > 0 ? weight * (1 - pow(1 - (double)range[i].share, times)) : 0;
    }
    return pages > 0 ? dirty / pages : -1;
}

/*
 * Learns from this window how much each process writes. A window sees only the time that a process ran in it: so its
 * share is converted to the usual time. This compares the processes of one window; in the long run, all are assumed to
 * run equally long.
 */
static void see_levels(struct hm_softdirty *softdirty)
{
    struct hm_softdirty_ranges *wanted = &softdirty->wanted;
    double usual_s = find_usual(softdirty);
    for (uint32_t i = 0, n; i < wanted->n; i += n) {
        n = count_alike(wanted, i);
        double used_s = softdirty->process[HM_PAGE_SPACE(wanted->range[i].page)].used_s;
        double share = share_in(&wanted->range[i], n, used_s > 0 ? usual_s / used_s : 1);
        if (share >= 0 && (used_s < 0 || used_s * LEAST_TIME >= usual_s))
            hm_softdirty_level_see(&softdirty->level[HM_PAGE_SPACE(wanted->range[i].page)], share);
    }
    softdirty->belief = hm_softdirty_level_believe(softdirty->level, HM_RANKS);
}

/* Moves the shares of each process towards their mean. */
static void shrink_all(struct hm_softdirty_ranges *wanted)
{
    for (uint32_t i = 0, n; i < wanted->n; i += n) {
        n = count_alike(wanted, i);
        shrink(&wanted->range[i], n);
    }
}

/*
 * Scales the shares of each process, so that their mean agrees with all its windows. Which ranges are written is taken
 * from this window.
 */
static void set_levels(struct hm_softdirty *softdirty)
{
    struct hm_softdirty_ranges *wanted = &softdirty->wanted;
    for (uint32_t i = 0, n; i < wanted->n; i += n) {
        n = count_alike(wanted, i);
        double share = find_share(&wanted->range[i], n, false);
        double level =
            hm_softdirty_level_of(&softdirty->level[HM_PAGE_SPACE(wanted->range[i].page)], &softdirty->belief);
        for (uint32_t k = i; k < i + n && share >= 0; k++)
            if (wanted->range[k].seen > 0)
                wanted->range[k].share = (float)(share > 0 ? fmin(1, wanted->range[k].share * level / share) : level);
    }
}

/*
 * Joins neighbours of equal share, and removes ranges of which no page was seen: observations are cut at the ranges
 * that remain, and each cut costs time.
 */
static void join(struct hm_softdirty_ranges *known)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < known->n; i++) {
        const struct hm_softdirty_range *range = &known->range[i];
        struct hm_softdirty_range *last = n > 0 ? &known->range[n - 1] : NULL;
        if (range->share < 0)
            continue;
        if (last && last->page + last->n_pages == range->page && last->share == range->share) {
            last->n_pages += range->n_pages;
            last->seen += range->seen;
        } else {
            known->range[n++] = *range;
        }
    }
    known->n = n;
}

void hm_softdirty_replace(struct hm_softdirty *softdirty)
{
    struct hm_softdirty_ranges *known = &softdirty->known;
    uint32_t kept = 0;
    if (!softdirty->by_place) {
        see_levels(softdirty);
        shrink_all(&softdirty->wanted);
        if (softdirty->belief.n > 0) /* otherwise nobody ran for long enough, and no level is known */
            set_levels(softdirty);
    }
    for (uint32_t i = 0; i < known->n; i++)
        if (!softdirty->process[HM_PAGE_SPACE(known->range[i].page)].has_window)
            known->range[kept++] = known->range[i];
    for (uint32_t i = 0; i < softdirty->wanted.n && kept < HM_SOFTDIRTY_RANGES; i++)
        known->range[kept++] = softdirty->wanted.range[i];
    known->n = kept;
    qsort(known->range, known->n, sizeof(known->range[0]), compare_ranges);
    if (softdirty->by_place)
        join(known);
    softdirty->wanted.n = 0;
}

/* Number of known ranges that begin at or before the page. */
static uint32_t find_known(const struct hm_softdirty_ranges *known, uint64_t page)
{
    return (uint32_t)HM_SEARCH_UPTO(known->range, known->n, page, page);
}

double hm_softdirty_share(const struct hm_softdirty *softdirty, uint64_t page)
{
    const struct hm_softdirty_ranges *known = &softdirty->known;
    uint32_t n = find_known(known, page);
    if (n == 0 || page - known->range[n - 1].page >= known->range[n - 1].n_pages)
        return -1;
    return known->range[n - 1].share;
}

uint64_t hm_softdirty_border(const struct hm_softdirty *softdirty, uint64_t page)
{
    const struct hm_softdirty_ranges *known = &softdirty->known;
    if (!softdirty->by_place)
        return UINT64_MAX;
    uint32_t n = find_known(known, page);
    if (n > 0 && page - known->range[n - 1].page < known->range[n - 1].n_pages)
        return known->range[n - 1].page + known->range[n - 1].n_pages;
    return n < known->n ? known->range[n].page : UINT64_MAX;
}

void hm_softdirty_split(const struct hm_softdirty *softdirty, struct hm_observation *observations, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct hm_observation *observation = &observations[i];
        double share = observation->knows_writes
                           ? -1
                           : hm_softdirty_share(softdirty, observation->page + observation->n_pages / 2);
        if (share < 0 && !observation->knows_writes && softdirty->belief.n > 0)
            share = hm_softdirty_level_of(&softdirty->level[HM_PAGE_SPACE(observation->page)], &softdirty->belief);
        if (share < 0)
            continue;
        observation->writes = (float)(observation->reads * share);
        observation->reads -= observation->writes;
        observation->knows_writes = true;
    }
}

void hm_softdirty_forget(struct hm_softdirty *softdirty, uint32_t space)
{
    uint32_t kept = 0;
    if (space >= HM_RANKS)
        return;
    softdirty->process[space] = (struct hm_softdirty_process){0};
    softdirty->level[space] = (struct hm_softdirty_level){0};
    for (uint32_t i = 0; i < softdirty->known.n; i++)
        if (HM_PAGE_SPACE(softdirty->known.range[i].page) != space)
            softdirty->known.range[kept++] = softdirty->known.range[i];
    softdirty->known.n = kept;
}
