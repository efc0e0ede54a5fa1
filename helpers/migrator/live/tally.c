/* SPDX-License-Identifier: Apache-2.0 */
#include "tally.h"

#include <math.h>
#include <stdlib.h>

/* A smaller share of saturated samples does not count: some pages of each process are always in use. */
#define TRACE 0.01

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
    tally->sample[place] = (struct hm_tally_sample){
        .page = page, .weight = (float)weight, .is_movable = is_movable, .is_saturated = observation->is_saturated};
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

struct found {                                        /* the weights of a phase's samples whose place is known */
    double in[HM_MAX_TIERS], saturated[HM_MAX_TIERS]; /* by tier: all, and those of saturated pages */
    double known, all_saturated;                      /* their sums */
    double fixed_fast, movable; /* those in the fast tier that cannot be moved; all that can be moved */
    double stuck;               /* of saturated pages that cannot be moved to the fast tier */
};

static struct found find(const struct hm_tally *tally, const int8_t *tier)
{
    struct found found = {0};
    size_t n = tally->n_seen < HM_TALLY_PAGES ? (size_t)tally->n_seen : HM_TALLY_PAGES;
    for (size_t i = 0; i < n; i++) {
        const struct hm_tally_sample *sample = &tally->sample[i];
        double weight = (double)sample->weight, saturated = sample->is_saturated ? weight : 0;
        if (tier[i] < 0)
            continue;
        found.in[tier[i]] += weight;
        found.saturated[tier[i]] += saturated;
        found.known += weight;
        found.all_saturated += saturated;
        found.fixed_fast += tier[i] == 0 && !sample->is_movable ? weight : 0;
        found.movable += sample->is_movable ? weight : 0;
        found.stuck += tier[i] > 0 && !sample->is_movable ? saturated : 0;
    }
    return found;
}

/* Between which bounds the share of a tier is: it may be more where pages in it are saturated, and less where others
 * are. */
static struct hm_tally_bounds bounds_of(const struct found *found, unsigned tier)
{
    double share = found->in[tier] / found->known, little = TRACE * found->known;
    return (struct hm_tally_bounds){found->all_saturated - found->saturated[tier] > little ? 0 : share,
                                    found->saturated[tier] > little ? 1 : share};
}

/* Adds the phase's kinds of memory, by all samples: pages that are gone by now count, too. */
static void add_kinds(struct hm_tally *tally, double weight)
{
    double all = 0;
    size_t n = tally->n_seen < HM_TALLY_PAGES ? (size_t)tally->n_seen : HM_TALLY_PAGES;
    for (size_t i = 0; i < n; i++)
        all += (double)tally->sample[i].weight;
    for (size_t i = 0; i < n; i++) {
        const struct hm_tally_sample *sample = &tally->sample[i];
        double part = weight * (double)sample->weight / all;
        tally->heat[sample->kind] += part;
        tally->stuck[sample->kind] += sample->is_stuck ? part : 0;
        tally->saturated += sample->is_saturated ? part : 0;
    }
}

/* The middle of the bounds, as a share of `all`; negative: they are too far apart, or `all` is 0. */
static double middle(struct hm_tally_bounds bounds, double all)
{
    bool is_known = all > 0 && (bounds.high - bounds.low) / 2 <= HM_TALLY_ERROR * all;
    return is_known ? share_of((bounds.low + bounds.high) / 2, all) : -1;
}

static void add(struct hm_tally_bounds *sum, struct hm_tally_bounds bounds, double weight)
{
    sum->low += weight * bounds.low;
    sum->high += weight * bounds.high;
}

void hm_tally_end(struct hm_tally *tally, const int8_t *tier, double best_movable)
{
    const struct found found = find(tally, tier);
    double weight = tally->movable + tally->unmovable;
    tally->last = -1;
    tally->last_weight = weight;
    add_kinds(tally, weight);
    if (found.known > 0) {
        const struct hm_tally_bounds fast = bounds_of(&found, 0);
        double share = found.in[0] / found.known, little = TRACE * found.known;
        bool may_be_more = found.saturated[0] > little || found.all_saturated - found.saturated[0] > little;
        /* What cannot be moved stays where it is. The best placement is at least as good as the present one. */
        double best = best_movable < 0 ? share : share_of(found.fixed_fast + found.movable * best_movable, found.known);
        best = best > share ? best : share;
        const struct hm_tally_bounds bests = {found.stuck > little ? 0 : best, may_be_more ? 1 : best};
        for (unsigned t = 0; t < HM_MAX_TIERS; t++)
            add(&tally->tier[t], bounds_of(&found, t), weight);
        add(&tally->best, bests, weight);
        tally->sum += weight;
        tally->last = middle(fast, 1);
    }
    tally->all_movable += tally->movable;
    tally->all_unmovable += tally->unmovable;
    tally->movable = tally->unmovable = 0;
    tally->n_seen = 0;
}

double hm_tally_share(const struct hm_tally *tally, unsigned tier)
{
    return middle(tally->tier[tier], tally->sum);
}

double hm_tally_best(const struct hm_tally *tally)
{
    return middle(tally->best, tally->sum);
}

bool hm_tally_is_saturated(const struct hm_tally *tally)
{
    return tally->sum > 0 && (hm_tally_share(tally, 0) < 0 || hm_tally_best(tally) < 0);
}

bool hm_tally_kinds(const struct hm_tally *tally, double heat[HM_MEMORY_KINDS], double stuck[HM_MEMORY_KINDS])
{
    double all = tally->all_movable + tally->all_unmovable;
    unsigned kinds = 0;
    for (int i = 0; i < HM_MEMORY_KINDS; i++)
        kinds += tally->heat[i] > 0;
    bool is_known = all > 0 && (kinds == 1 || tally->saturated <= HM_TALLY_ERROR * all);
    for (int i = 0; i < HM_MEMORY_KINDS; i++) {
        heat[i] = is_known ? share_of(tally->heat[i], all) : 0;
        stuck[i] = is_known ? share_of(tally->stuck[i], all) : 0;
    }
    return is_known;
}

static uint64_t present(const struct hm_extent *extent)
{
    uint64_t pages = 0;
    for (int tier = 0; tier < HM_MAX_TIERS; tier++)
        pages += extent->tier_pages[tier];
    return pages;
}

static int compare_density(const void *a, const void *b)
{
    const struct hm_tally_rank *x = a, *y = b;
    return (x->density < y->density) - (x->density > y->density);
}

double hm_tally_best_placement(const struct hm_extent *extents, size_t count, uint64_t capacity_pages,
                               struct hm_tally_rank *rank)
{
    double all = 0, best = 0, left = (double)capacity_pages;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        double pages = (double)present(&extents[i]), heat = extents[i].reads + extents[i].writes;
        if (!(pages > 0))
            continue;
        all += heat;
        rank[n++] = (struct hm_tally_rank){.density = heat / pages, .pages = pages};
    }
    if (n > 1)
        qsort(rank, n, sizeof(*rank), compare_density);
    for (size_t k = 0; k < n && left > 0; k++) {
        best += rank[k].density * fmin(rank[k].pages, left);
        left -= rank[k].pages;
    }
    return all > 0 ? share_of(best, all) : -1;
}
