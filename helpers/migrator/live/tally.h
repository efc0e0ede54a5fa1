/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the share of accesses (or of writes alone) that the fast tier served. Of each phase's samples, at most
 * HM_TALLY_PAGES are chosen at random and looked up in the page tables at the phase's end, before anything moves. Each
 * phase has the weight of the accesses that its samples stand for.
 */
#ifndef HM_MIGRATOR_LIVE_TALLY_H
#define HM_MIGRATOR_LIVE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "migrator/decide/decide.h"

/* Most samples per phase. If so many weigh the same, the standard error is at most 2.2 %. */
#define HM_TALLY_PAGES 512

struct hm_tally_sample {
    uint64_t page;
    float weight;
    bool is_movable;
};

struct hm_tally {
    struct hm_random random;
    bool of_writes; /* only writes count */
    struct hm_tally_sample sample[HM_TALLY_PAGES];
    uint64_t n_seen;                   /* in this phase */
    double movable, unmovable;         /* accesses in this phase, to memory that can be moved or cannot */
    double all_movable, all_unmovable; /* the same in all phases that have ended */
    double sum;                        /* weights of the phases: their accesses */
    double fast, best;                 /* sums over phases: weight times the share that was, or could be, fast */
    double last;                       /* share of the last phase; negative: no sample whose place is known */
};

void hm_tally_init(struct hm_tally *tally, uint64_t seed, bool of_writes);
/* Adds an observation. Each of its samples stands for `accesses` accesses. A random page of its range represents it. */
void hm_tally_add(struct hm_tally *tally, const struct hm_observation *observation, double accesses, bool is_movable);
/* Sorts the chosen samples by page, in tally->sample. Returns their number. */
size_t hm_tally_choose(struct hm_tally *tally);
/*
 * Ends the phase. is_fast[i] says where the i-th chosen sample is: 1 fast, 0 slow, -1 not known. `best_movable` is the
 * share of the accesses to movable memory that the fast tier could serve (negative: not known).
 */
void hm_tally_end(struct hm_tally *tally, const int8_t *is_fast, double best_movable);
/* The share that the fast tier served, over all phases; negative: no sample whose place is known. */
double hm_tally_fast(const struct hm_tally *tally);
/* The same under the best placement. */
double hm_tally_best(const struct hm_tally *tally);

/*
 * The share of the extents' heat that `capacity_pages` of fast memory could serve. Extents fill that memory in the
 * order of heat per present page, which is the best choice if parts of extents can be taken; those without a present
 * page do not count. `order` is a buffer for `count` numbers. Negative: there is no heat.
 */
double hm_tally_best_placement(const struct hm_extent *extents, size_t count, uint64_t capacity_pages, uint32_t *order);

#endif
