/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts how many pages of an extent are present in each tier. Of small extents all pages are looked up, of large ones
 * an even sample.
 */
#ifndef HM_MIGRATOR_MOVE_RESIDENCE_H
#define HM_MIGRATOR_MOVE_RESIDENCE_H

#include "batch.h"
#include "migrator/decide/decide.h"
#include "migrator/watch/maps.h"
#include "migrator/watch/ranks.h"
#include "nodes.h"

struct hm_residence {
    const struct hm_ranks *ranks;
    const struct hm_maps *maps; /* indexed by space, a process's number (ranks.h) */
    const struct hm_nodes *nodes;
    struct hm_batch *batch; /* used for its buffers */
    /* hm_residence_fill adds the pages of files and of hugetlbfs here, by tier, as the step's cgroup does not count
     * them as its memory; NULL: they are not wanted */
    double *apart;
};

/*
 * Sets tier_pages of extents that are sorted by `first`. Looks up about `n_looks` pages in all, and at
 * least one by tier for each extent. Pages outside the movable ranges do not count. An extent of a process that is gone
 * gets 0. Returns how many pages were looked up.
 */
size_t hm_residence_fill(const struct hm_residence *residence, struct hm_extent *extents, size_t count, size_t n_looks);

/*
 * Looks up pages (numbered as in decide/decide.h), which must be sorted: tier[i] becomes the page's tier, -1 if it is
 * not present or cannot be looked up.
 */
void hm_residence_look(const struct hm_residence *residence, const uint64_t *page, int8_t *tier, size_t count);

/*
 * Lists movable memory that is in no extent, by ascending page: that of which the source would have seen any use, or,
 * with `is_unseen`, that which a process has mapped of which it does not see all (hm_rank.has_unseen). If there are
 * more than `room` spans, the smallest are left out. `extents` must be sorted by `first`. Returns the number of spans.
 * Pure.
 */
size_t hm_residence_gaps(const struct hm_residence *residence, const struct hm_extent *extents, size_t count,
                         bool is_unseen, struct hm_extent *gaps, size_t room);

#endif
