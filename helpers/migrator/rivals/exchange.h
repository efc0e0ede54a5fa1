/* SPDX-License-Identifier: Apache-2.0 */
/* Moves pages in the order of their rank, as far as a policy's rule says so. For the rivals. */
#ifndef HM_MIGRATOR_RIVALS_EXCHANGE_H
#define HM_MIGRATOR_RIVALS_EXCHANGE_H

#include "pages.h"

/*
 * The rule of a policy: is `hot` to be promoted, at the price of demoting `cold`? `cold` is NULL if there is room
 * without a demotion. HM_VERDICT_PROMOTE: yes. HM_VERDICT_NEW and HM_VERDICT_PLACED: not this one. Any other verdict
 * ends the plan, and is that of all pages of the slow tier that are left.
 */
typedef enum hm_verdict hm_rival_rule(struct hm_rival *rival, const struct hm_rival_page *hot,
                                      const struct hm_rival_page *cold);

/*
 * Begins the plan: puts the extents in the order of their rank, and demotes the lowest while there are more pages in
 * the fast tier than the capacity is. Returns the number of pages that may still move.
 */
uint64_t hm_rival_begin_plan(struct hm_rival *rival, const struct hm_budget *budget);
/* Promotes by the rule, the highest rank first; where there is no room, the lowest rank is demoted for it. */
void hm_rival_promote(struct hm_rival *rival, const struct hm_budget *budget, uint64_t left, hm_rival_rule *rule);
/* Demotes the page that is the extent order[place]. */
void hm_rival_demote_at(struct hm_rival *rival, size_t place);
/* Ends the plan: gives out the moves. */
void hm_rival_end_plan(struct hm_rival *rival);
/* The three of them in turn: a plan that only promotes by the rule. */
void hm_rival_plan(struct hm_rival *rival, const struct hm_budget *budget, hm_rival_rule *rule);

/* The page that an extent is; for a hole a page without samples. */
const struct hm_rival_page *hm_rival_page_of(const struct hm_rival *rival, size_t extent);

#endif
