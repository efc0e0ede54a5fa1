/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a phase's end share; for phase.c, planning.c and limits.c only. */
#ifndef HM_MIGRATOR_LIVE_PHASEPARTS_H
#define HM_MIGRATOR_LIVE_PHASEPARTS_H

#include "live.h"

struct hm_live_end { /* what is known at the end of one phase */
    struct hm_extent *extent;
    /* gaps: memory that was not seen in use; after them, in the same list, that of which the source cannot tell */
    size_t n_extents, n_gaps, n_unseen;
    /* by tier, without the slowest: the step's pages there; the part of them that is in gaps; that of which the source
     * cannot tell; and the most that it may have there */
    uint64_t used_pages[HM_MAX_TIERS], gap_pages[HM_MAX_TIERS], unseen_pages[HM_MAX_TIERS];
    uint64_t capacity_pages[HM_MAX_TIERS];
};

/* Is nothing known of any page, and may that still change? To demote for the cap would be blind. */
bool hm_live_is_blind(const struct hm_live *live, const struct hm_live_end *end);
/* How many pages the step has above its cap, and is to demote as far as the purse pays; 0 while it is blind. */
uint64_t hm_live_above_cap(const struct hm_live *live, const struct hm_live_end *end);
/* How many pages a tier would have too many of after these moves. */
uint64_t hm_live_above_room(const struct hm_live_end *end, unsigned tier, const struct hm_move *moves, size_t count);

struct hm_live_planned {
    const struct hm_move *move; /* belong to the decider */
    size_t n;
    uint64_t pages, promoted; /* how many pages move, with those that make room; and how many go up */
    /* CPU seconds of waiting for memory that the promotions are expected to make up, if the job does nothing but wait;
     * negative: not known, as heat belongs in the slow tier, too */
    double gain_s;
    uint64_t paid_pages; /* how many may move by what the purse pays for, whatever is left of the job's time */
};

/*
 * Plans moves for the savings in the purse. An advance is used for further moves if these are expected to pay for
 * their CPU time; where their gain is not known, the plan's own costs decide.
 * budget->move_pages is the most that other limits allow, and becomes the number of pages that may be moved.
 * end->extent has the plan's verdicts.
 */
struct hm_live_planned hm_live_plan(struct hm_live *live, struct hm_live_end *end, struct hm_budget *budget,
                                    double phase_s);
/*
 * Plans to demote memory in the tier `from` that nobody was seen to use: enough moves for `pages`, by ascending page,
 * to the slowest tier. `moves` has room for all gaps. Returns their number.
 */
size_t hm_live_demote_unused(struct hm_live *live, const struct hm_live_end *end, unsigned from, uint64_t pages,
                             struct hm_move *moves);
/* How many pages of a tier a plan counts as used: not those that were not seen in use; and of those of which the source
 * cannot tell, not what is above the cap or the share, as it goes down before anything that was seen in use. */
uint64_t hm_live_used(const struct hm_live *live, const struct hm_live_end *end, unsigned tier);
/*
 * After the plan's moves: demotes what is still above the cap or the share, coldest first; memory of which the source
 * cannot tell before what was seen in use. `rate_pages`: most pages of
 * this phase; `paid_pages`: those that the purse has paid for, of which the plan's moves were.
 */
void hm_live_enforce_limits(struct hm_live *live, const struct hm_live_end *end, uint64_t rate_pages,
                            uint64_t paid_pages);
/* Notes how much was above the cap, before the first move and at the end of phases, and for how long. */
void hm_live_watch_cap(struct hm_live *live, const struct hm_live_end *end, double phase_s);

#endif
