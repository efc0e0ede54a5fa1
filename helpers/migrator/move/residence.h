/* SPDX-License-Identifier: Apache-2.0 */
/* How many pages of a region are present in which tier: all pages of small regions are looked up, of large ones an even
 * sample. */
#ifndef HM_MIGRATOR_MOVE_RESIDENCE_H
#define HM_MIGRATOR_MOVE_RESIDENCE_H

#include "batch.h"
#include "migrator/decide/decide.h"
#include "migrator/watch/maps.h"
#include "migrator/watch/ranks.h"
#include "nodes.h"

struct hm_residence {
    const struct hm_ranks *ranks;
    const struct hm_maps *maps; /* by space */
    const struct hm_nodes *nodes;
    struct hm_batch *batch; /* for its buffers */
};

/*
 * Fill in fast_pages and slow_pages of regions that are sorted by `first`, looking at `n_looks` pages in all, a few per
 * region at least. Pages outside of ranges that may be moved do not count. A region of a process that is gone has none.
 * Returns how many were looked at.
 */
size_t hm_residence_fill(const struct hm_residence *residence, struct hm_region *regions, size_t count, size_t n_looks);

/* The pages (decide/decide.h) in fast nodes: share[i] becomes 1 or 0, or -1 where the page is not present. */
void hm_residence_look(const struct hm_residence *residence, const uint64_t *page, int8_t *is_fast, size_t count);

/*
 * What may be moved and is in no region: at most `room` spans by ascending page, the smallest left out where there are
 * more. `regions` are sorted by `first`. Returns their number. Pure.
 */
size_t hm_residence_gaps(const struct hm_residence *residence, const struct hm_region *regions, size_t count,
                         struct hm_region *gaps, size_t room);

#endif
