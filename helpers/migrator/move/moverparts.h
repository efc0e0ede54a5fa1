/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the mover share: the batch that is being gathered. */
#ifndef HM_MIGRATOR_MOVE_MOVERPARTS_H
#define HM_MIGRATOR_MOVE_MOVERPARTS_H

#include "mover.h"

#define HM_MOVER_LEAST_BATCH 128 /* smallest value of batch_pages, and the first */

/* The page by which it is remembered that a page was not moved: that of its home. */
uint64_t hm_mover_key(const struct hm_mover *mover, uint64_t page);
/* Carries the batch out, and learns how many pages the next one may have. */
void hm_mover_flush(struct hm_mover *mover);
/*
 * Adds the page. A batch of another file, one whose pages are moved in another way, that has batch_pages already, or
 * that has no room for the whole of a huge page that begins, is carried out first. A huge page stays in one batch. If
 * there is no room for the page, the batch is carried out, which may free some, and the page is tried again. Returns
 * false if no node has room for it, or room_pages leaves none in the fast tier.
 */
bool hm_mover_add(struct hm_mover *mover, uint64_t page, int from, bool may_be_huge, const struct hm_mapped *mapped);

#endif
