/* SPDX-License-Identifier: Apache-2.0 */
/* The placement of a trace's pages during a replay, and what the accesses cost there. */
#ifndef HM_MIGRATOR_REPLAY_PLACEMENT_H
#define HM_MIGRATOR_REPLAY_PLACEMENT_H

#include <stdbool.h>

#include "loaded.h"
#include "replay.h"

/* Sums over the phases, of one tier. */
struct hm_served {
    double mem, raw, writes; /* accesses to memory; loads and stores; writes to memory */
};

struct hm_placement {
    const struct hm_trace *trace;
    const struct hm_replay_options *options;
    uint8_t *tier; /* by index of the page in the trace; the last tier for pages that are not present */
    bool *is_present;
    uint64_t capacity[HM_MAX_TIERS], used[HM_MAX_TIERS]; /* in pages */
    double cost;                                         /* in units of a read from the first tier */
    struct hm_served served[HM_MAX_TIERS];
    uint64_t moved[HM_MAX_TIERS][HM_MAX_TIERS]; /* pages, [from][to] */
    double new_share, due; /* share of the new pages that may begin in the first tier, and its part of a page so far */
    struct hm_loaded loaded; /* under load: adds up what `cost` has without it */
};

/* Sets the placement up, with no page present. Returns 0 (free with hm_placement_free), or -1 (ENOMEM). */
int hm_placement_init(struct hm_placement *placement, const struct hm_trace *trace,
                      const struct hm_replay_options *options);
void hm_placement_free(struct hm_placement *placement);

/*
 * Lets new pages begin in both tiers, in the ratio in which these saturate together, as the plan does where tiers have
 * channels of their own (core/plan/spread.c): nobody knows yet which pages are hot. Where the fast tier has no room for
 * that share of all pages, it is filled first all the same: it is full soon either way, and serves more until then. The
 * options have a load.
 */
void hm_placement_spread(struct hm_placement *placement);
/* Places the pages that this phase touches for the first time: in the fastest tier that has room; in the first
 * only the share of them that hm_placement_spread has set. */
void hm_placement_touch(struct hm_placement *placement, size_t phase);
/* Counts the phase's accesses, by the tier of their pages. */
void hm_placement_serve(struct hm_placement *placement, size_t phase);
/* Has a page in another tier, as if it had always been there: without a cost. */
void hm_placement_put(struct hm_placement *placement, size_t page, unsigned tier);
/* Moves a present page to another tier, and adds the cost of the move. The caller keeps to the capacities. */
void hm_placement_move(struct hm_placement *placement, size_t page, unsigned tier);
/* The result; a figure is NaN if there were no accesses of its kind (`amat` is then infinite if pages were moved). */
struct hm_score hm_placement_score(const struct hm_placement *placement);

#endif
