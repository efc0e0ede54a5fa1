/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the share of accesses (or of writes alone) that each tier served. Of each phase's samples, at most
 * HM_TALLY_PAGES are chosen at random and looked up in the page tables at the phase's end, before anything moves. Each
 * phase has the weight of the accesses that its samples stand for.
 *
 * Of saturated pages (hm_observation) only the least number of accesses is known. If all are in one tier, that tier's
 * share is anything from what their samples say up to 1; if there are some in both, it is anything from 0 to 1. So the
 * tally keeps the lowest and the highest value of each share. A share is told as the middle of the two, if that is at
 * most HM_TALLY_ERROR from either. This holds for each phase. The share of all phases is their mean by weight, and the
 * weight is always what the samples say: so a phase whose pages are saturated may weigh less than its accesses would.
 */
#ifndef HM_MIGRATOR_LIVE_TALLY_H
#define HM_MIGRATOR_LIVE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "migrator/decide/decide.h"
#include "migrator/figures/kinds.h"

/* Most samples per phase. If so many weigh the same, the standard error is at most 2.2 %. */
#define HM_TALLY_PAGES 512
#define HM_TALLY_ERROR 0.05 /* a share is not told if saturated pages may change it by more */

struct hm_tally_sample {
    uint64_t page;
    float weight;
    bool is_movable, is_saturated;
    /* set by the caller of hm_tally_choose: what the page is, and whether it is known that it cannot be moved */
    enum hm_memory_kind kind;
    bool is_stuck;
};

/* The lowest and the highest value that a share may have. */
struct hm_tally_bounds {
    double low, high;
};

struct hm_tally {
    struct hm_random random;
    bool of_writes; /* only writes count */
    struct hm_tally_sample sample[HM_TALLY_PAGES];
    uint64_t n_seen;                   /* in this phase */
    double movable, unmovable;         /* accesses in this phase, to memory that can be moved or cannot */
    double all_movable, all_unmovable; /* the same in all phases that have ended */
    double sum;                        /* weights of the phases: their accesses */
    /* sums over the phases: weight times the bounds of the share that each tier served, and that the fast one could */
    struct hm_tally_bounds tier[HM_MAX_TIERS], best;
    /* sums over the phases: weight times the share of each kind of memory, and of those of its pages that cannot be
     * moved; and of saturated pages */
    double heat[HM_MEMORY_KINDS], stuck[HM_MEMORY_KINDS], saturated;
    double last;        /* the fast tier's share of the last phase; negative: not known */
    double last_weight; /* accesses of the last phase */
};

void hm_tally_init(struct hm_tally *tally, uint64_t seed, bool of_writes);
/* Adds an observation. Each of its samples stands for `accesses` accesses. A random page of its range represents it. */
void hm_tally_add(struct hm_tally *tally, const struct hm_observation *observation, double accesses, bool is_movable);
/* Sorts the chosen samples by page, in tally->sample. Returns their number. */
size_t hm_tally_choose(struct hm_tally *tally);
/*
 * Ends the phase. tier[i] is that of the i-th chosen sample, 0 for the fast one; -1: not known. `best_movable` is the
 * share of the accesses to movable memory that the fast tier could serve (negative: not known).
 */
void hm_tally_end(struct hm_tally *tally, const int8_t *tier, double best_movable);
/* The share that the tier served, over all phases; negative: not known, as there is no sample whose place is known, or
 * too many are of saturated pages. */
double hm_tally_share(const struct hm_tally *tally, unsigned tier);
/* The same of the fast tier under the best placement. */
double hm_tally_best(const struct hm_tally *tally);
/*
 * The share of the accesses that each kind of memory had, and those of its pages that could not be moved. Returns false
 * if it is not known: there is no sample, or there are several kinds, and more than HM_TALLY_ERROR of the accesses are
 * to saturated pages. Then all are 0.
 */
bool hm_tally_kinds(const struct hm_tally *tally, double heat[HM_MEMORY_KINDS], double stuck[HM_MEMORY_KINDS]);
/* Is one of the two not known because of saturated pages? */
bool hm_tally_is_saturated(const struct hm_tally *tally);

struct hm_tally_rank { /* of an extent */
    double density;    /* heat per present page */
    double pages;      /* present ones */
};

/*
 * The share of the extents' heat that `capacity_pages` of fast memory could serve. Extents fill that memory in the
 * order of heat per present page, which is the best choice if parts of extents can be taken; those without a present
 * page do not count. `rank` is a buffer for `count` extents. Negative: there is no heat.
 */
double hm_tally_best_placement(const struct hm_extent *extents, size_t count, uint64_t capacity_pages,
                               struct hm_tally_rank *rank);

#endif
