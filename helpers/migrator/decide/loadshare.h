/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the traffic of both tiers into what the decision code is told of it (struct hm_heat_share). Pure.
 *
 * The best share is the one whose mean latency over the last phases is least. The traffic of the phases differs, and
 * latencies grow the faster the more traffic there is: a share that is best for the mean of the traffic is not best on
 * the mean.
 *
 * It does not swing, by two means. The more of the heat is where it belongs, the less is left to gain, while the price
 * of a move stays. And a balance whose cost is nearly the least is left alone: the cost is flat there, so that a
 * traffic which is measured a little otherwise in each phase would move the best share more than it is worth.
 */
#ifndef HM_MIGRATOR_DECIDE_LOADSHARE_H
#define HM_MIGRATOR_DECIDE_LOADSHARE_H

#include "core/load/balance.h"
#include "decide.h"

#define HM_LOADSHARE_PHASES 5 /* that count: what a program did while it set up its data does not come again */

/* What the tiers served in a phase, in GB/s. */
struct hm_loadshare_phase {
    double fast_gbs, slow_gbs;
};

/* Zero before the first phase. */
struct hm_loadshare {
    struct hm_loadshare_phase phase[HM_LOADSHARE_PHASES]; /* the last one first */
};

/* Adds a phase, with the traffic in GB/s that each tier served in it, without that of moves. */
void hm_loadshare_add(struct hm_loadshare *seen, double fast_gbs, double slow_gbs);

/*
 * Sets in `share` which share of the accesses the fast tier served, which it should serve, what an access gains that
 * moves there, and the price of a move of `lines` lines: both in accesses to the fast tier without load. Leaves what
 * the decision code keeps there. Before the first phase all heat belongs in the fast tier.
 */
void hm_loadshare_tell(const struct hm_loadshare *seen, const struct hm_load *load, double lines,
                       struct hm_heat_share *share);

#endif
