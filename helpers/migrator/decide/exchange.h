/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchanges pages of extents between tiers, while a plan is made. A page may be planned to move more than once: it
 * then goes from where it is now to the last of these tiers, and the moves between are neither made nor charged.
 */
#ifndef HM_MIGRATOR_DECIDE_EXCHANGE_H
#define HM_MIGRATOR_DECIDE_EXCHANGE_H

#include "extentsparts.h"

/* The state while a plan is made. */
struct hm_exchange {
    struct hm_extents *extents;
    size_t cold[HM_EXTENTS_PAIRS]; /* place in the pair's order of the coldest extent that may have pages to demote */
    bool gives_way;                /* pages have given way in this pass over a pair: those at `cold` last */
    uint64_t room[HM_MAX_TIERS];   /* free pages, by tier */
    uint64_t moves_left;           /* pages that the budget still allows */
    double belief;                 /* number of phases for which a gain is expected to last, times the trust in it */
    double move_cost[HM_MAX_TIERS][HM_MAX_TIERS]; /* of a page, as in the options */
    double heat_room; /* heat (priority times pages) that the fast tier should have more; negative: less */
    bool only_back;   /* pages may only go back to where they were before earlier moves (extents->lifted) */
    double even;      /* near this share of the pages of each extent should be in the fast tier; 1: no limit */
};

/* Begins without moves. The extents are in order, and `belief` and `heat_room` are for the caller to set,
 * and `even` where there are two tiers. */
void hm_exchange_begin(struct hm_exchange *exchange, struct hm_extents *extents, const struct hm_budget *budget);
/* Demotes the coldest pages of the tiers that are above their capacity. Comes first. */
void hm_exchange_obey_caps(struct hm_exchange *exchange, const struct hm_budget *budget);
/*
 * Promotes pages as long as that pays: into free room, or for colder pages of the faster tier, which take their places.
 * Takes the tiers in pairs, the fastest first, and with more than two of them all pairs again: a page that has given
 * way may pay in a tier between. With one order of the extents for all tiers and without a price the result is the best
 * placement. Else a chain over three tiers that pays only as a whole is not found; the unit tests lose less than 1 % by
 * that.
 */
void hm_exchange_promote(struct hm_exchange *exchange);
/*
 * Demotes hot pages of the first of two tiers, so that the slow tier serves more: the hottest extents first, as few of
 * their pages take much heat.
 */
void hm_exchange_shed(struct hm_exchange *exchange);

#endif
