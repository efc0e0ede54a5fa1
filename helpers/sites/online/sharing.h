/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that processes share since one of them forked the other: the kernel moves no page for a user that another
 * process maps, too, and each such page is there only once. A page is one process's alone again when the other has
 * written to it, freed it or ended.
 */
#ifndef HM_SITES_ONLINE_SHARING_H
#define HM_SITES_ONLINE_SHARING_H

#include "migrator/move/residence.h"

struct hm_online_shared {
    uint64_t tier_pages[2]; /* of a stretch of memory, those that other processes map, too */
};

/*
 * Counts the pages of stretches, by an even sample of about `n_looks` in all, and two of each at least: in tier_pages
 * of the extent those that its process has alone, else in `shared`. The extents are sorted. Without the page map all
 * counts as alone.
 */
void hm_online_sharing_fill(const struct hm_residence *residence, struct hm_extent *extent,
                            struct hm_online_shared *shared, size_t n, size_t n_looks);

#endif
