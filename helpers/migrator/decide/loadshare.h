/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the traffic of both tiers into what the decision code is told of it (struct hm_heat_share). Pure.
 *
 * It does not swing, by three means. The traffic that counts is a mean over the phases, in which the last ones weigh
 * more. The more of the heat is where it belongs, the less is left to gain, while the price of a move stays. And a
 * balance whose cost is within a hundredth of the least is left alone: the cost is flat there, so that a traffic which
 * is measured a little otherwise in each phase would move the best share more than it is worth.
 */
#ifndef HM_MIGRATOR_DECIDE_LOADSHARE_H
#define HM_MIGRATOR_DECIDE_LOADSHARE_H

#include "core/load/balance.h"
#include "decide.h"

/* Zero before the first phase. */
struct hm_loadshare {
    double last_fast, last_slow;             /* traffic of the last phase, in GB/s */
    double recent_fast, recent_slow, weight; /* sums over the phases, in which older ones weigh less */
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
