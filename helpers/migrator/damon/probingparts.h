/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of probing.h share; for probing*.c only. */
#ifndef HM_MIGRATOR_DAMON_PROBINGPARTS_H
#define HM_MIGRATOR_DAMON_PROBINGPARTS_H

#include "probing.h"

#define HM_PROBING_FIRST 10                /* level that blocks begin with: 16 ms */
#define HM_PROBING_UNKNOWN HM_DAMON_LEVELS /* the block had no visit yet: it takes the usual level */
#define HM_PROBING_ENOUGH 32 /* blocks of a level: a burst of fewer costs nearly as much as one of so many */

/* The size of blocks, so that they are as many as the budget pays for in a round. */
uint64_t hm_probing_choose_size(const struct hm_damon_probing *probing, const struct hm_damon_needs *needs);
/* Does a visit take much more CPU time than was assumed at first, or much less? */
bool hm_probing_has_other_cost(const struct hm_damon_probing *probing);
/* Cuts the ranges into blocks of this size. What is known of earlier blocks is forgotten. */
void hm_probing_cut(struct hm_damon_probing *probing, uint64_t block_pages, const struct hm_damon_needs *needs);
/* Divides the pages of a burst, which the budget of one interval can pay for, among the processes, by their blocks;
 * each gets one at least. */
void hm_probing_share_out(struct hm_damon_probing *probing, const struct hm_damon_needs *needs);
/* The pages of a block, within its range. `range` is where to look for it first, and gets the range. */
void hm_probing_find_pages(const struct hm_damon_probing *probing, uint32_t block, unsigned *range, uint64_t *first,
                           uint64_t *end);
/* The block had its visit in this round. */
void hm_probing_finish(struct hm_damon_probing *probing, uint32_t block);
void hm_probing_begin_round(struct hm_damon_probing *probing, uint64_t now_ns);

#endif
