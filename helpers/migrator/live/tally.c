/* SPDX-License-Identifier: Apache-2.0 */
#include "tally.h"

#include <stdlib.h>

void hm_tally_init(struct hm_tally *tally, uint64_t seed, bool of_writes)
{
    *tally = (struct hm_tally){.random = {seed}, .of_writes = of_writes, .last = -1};
}

void hm_tally_add(struct hm_tally *tally, const struct hm_observation *observation, double accesses, bool is_movable)
{
    double samples = (tally->of_writes ? 0 : (double)observation->reads) + (double)observation->writes;
    double weight = samples * accesses;
    if (!(weight > 0))
        return;
    *(is_movable ? &tally->movable : &tally->unmovable) += weight;
    /* Reservoir sampling: the k-th sample gets a place with probability places / k. */
    uint64_t place = tally->n_seen++;
    if (place >= HM_TALLY_PAGES)
        place = hm_random_next(&tally->random) % tally->n_seen;
    if (place >= HM_TALLY_PAGES)
        return;
    uint64_t page =
        observation->page + (observation->n_pages > 1 ? hm_random_next(&tally->random) % observation->n_pages : 0);
    tally->sample[place] = (struct hm_tally_sample){page, (float)weight, is_movable};
}

/*
 * The share of `part` in `all`, at most 1. Sums of the same numbers in different order differ in their last bits, so a
 * share of everything could exceed 1 by a little, which readers of the figures refuse.
 */
static double share_of(double part, double all)
{
    return part < all ? part / all : 1;
}

static int compare(const void *a, const void *b)
{
    const struct hm_tally_sample *x = a, *y = b;
    return (x->page > y->page) - (x->page < y->page);
}

size_t hm_tally_choose(struct hm_tally *tally)
{
    size_t n = tally->n_seen < HM_TALLY_PAGES ? (size_t)tally->n_seen : HM_TALLY_PAGES;
    if (n > 1)
        qsort(tally->sample, n, sizeof(tally->sample[0]), compare);
    return n;
}

void hm_tally_end(struct hm_tally *tally, const int8_t *is_fast, double best_movable)
{
    size_t n = tally->n_seen < HM_TALLY_PAGES ? (size_t)tally->n_seen : HM_TALLY_PAGES;
    double known = 0, fast = 0, fixed_fast = 0, movable = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hm_tally_sample *sample = &tally->sample[i];
        if (is_fast[i] < 0)
            continue;
        known += (double)sample->weight;
        fast += is_fast[i] ? (double)sample->weight : 0;
        fixed_fast += is_fast[i] && !sample->is_movable ? (double)sample->weight : 0;
        movable += sample->is_movable ? (double)sample->weight : 0;
    }
    double weight = tally->movable + tally->unmovable;
    tally->last = known > 0 ? fast / known : -1;
    if (known > 0) {
        /* What cannot be moved stays where it is. The best placement is at least as good as the present one. */
        double best = best_movable < 0 ? tally->last : share_of(fixed_fast + movable * best_movable, known);
        tally->sum += weight;
        tally->fast += weight * tally->last;
        tally->best += weight * (best > tally->last ? best : tally->last);
    }
    tally->all_movable += tally->movable;
    tally->all_unmovable += tally->unmovable;
    tally->movable = tally->unmovable = 0;
    tally->n_seen = 0;
}

double hm_tally_fast(const struct hm_tally *tally)
{
    return tally->sum > 0 ? tally->fast / tally->sum : -1;
}

double hm_tally_best(const struct hm_tally *tally)
{
    return tally->sum > 0 ? tally->best / tally->sum : -1;
}

static double density(const struct hm_extent *extent)
{
    return (extent->reads + extent->writes) / (double)(extent->fast_pages + extent->slow_pages);
}

static int compare_density(const void *a, const void *b, void *data)
{
    const struct hm_extent *extents = data;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    double x = density(&extents[i]), y = density(&extents[j]);
    return x != y ? (x < y) - (x > y) : (i > j) - (i < j);
}

double hm_tally_best_placement(const struct hm_extent *extents, size_t count, uint64_t capacity_pages, uint32_t *order)
{
    double all = 0, best = 0, left = (double)capacity_pages;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (extents[i].fast_pages + extents[i].slow_pages == 0)
            continue;
        all += extents[i].reads + extents[i].writes;
        order[n++] = (uint32_t)i;
    }
    if (n > 1)
        qsort_r(order, n, sizeof(*order), compare_density, (void *)(uintptr_t)extents);
    for (size_t k = 0; k < n && left > 0; k++) {
        const struct hm_extent *extent = &extents[order[k]];
        double pages = (double)(extent->fast_pages + extent->slow_pages), heat = extent->reads + extent->writes;
        best += pages <= left ? heat : heat * left / pages;
        left -= pages;
    }
    return all > 0 ? share_of(best, all) : -1;
}
