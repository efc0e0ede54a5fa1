/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The estimated shares of accesses, or of writes alone, that the fast tier served. A bounded, even choice of each
 * phase's samples is looked up in the page tables at the phase's end, before anything moves; phases count by the
 * accesses that their samples stand for.
 */
#ifndef HM_MIGRATOR_LIVE_TALLY_H
#define HM_MIGRATOR_LIVE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "migrator/decide/decide.h"

#define HM_TALLY_PAGES 512 /* the error of a phase's share is at most 2.2 % (one standard error) */

struct hm_tally_sample {
    uint64_t page;
    float weight;
    bool is_movable;
};

struct hm_tally {
    uint64_t random;
    bool of_writes; /* reads do not count */
    struct hm_tally_sample sample[HM_TALLY_PAGES];
    uint64_t n_seen;           /* in this phase */
    double movable, unmovable; /* weight seen in this phase */
    double all_movable, all_unmovable;
    double sum, fast, best; /* over phases: weight, and shares times weight */
    double last;            /* share of the last phase, negative: no sample */
};

void hm_tally_init(struct hm_tally *tally, uint64_t seed, bool of_writes);
/* One observation, in samples of so many accesses each: a page of its range stands for it. */
void hm_tally_add(struct hm_tally *tally, const struct hm_observation *observation, double accesses, bool is_movable);
/* Sort the chosen samples by page and return their number; hm_tally_page() is the i-th. */
size_t hm_tally_choose(struct hm_tally *tally);
/*
 * End the phase: is_fast[i] of the chosen samples is 1, 0, or -1 for unknown. `best_movable`: share of the movable
 * accesses under the best placement (negative: not known).
 */
void hm_tally_end(struct hm_tally *tally, const int8_t *is_fast, double best_movable);
/* Shares over all phases, negative where nothing was sampled. */
double hm_tally_fast(const struct hm_tally *tally);
double hm_tally_best(const struct hm_tally *tally);

/*
 * The share of the regions' heat that `capacity_pages` of fast memory could serve: greedy by heat per present page,
 * which is best where parts of regions can be taken. `order` is room for `count` numbers. Negative: no heat.
 */
double hm_tally_best_placement(const struct hm_region *regions, size_t count, uint64_t capacity_pages, uint32_t *order);

#endif
