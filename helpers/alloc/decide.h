/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which node each block of an allocation is on, and tells the kernel. The caller holds the lock of known.h. */
#ifndef HM_ALLOC_DECIDE_H
#define HM_ALLOC_DECIDE_H

#include <stdbool.h>

#include "folders.h"
#include "known.h"
#include "layout.h"

/* Read the layout, once, before all else. No lock is needed. */
void hm_decide_begin(void);
const struct hm_layout *hm_decide_layout(void);
/* Lane (place.h) of the next block, of `n_lanes`: each allocation goes on where the last one ended, so that small
 * allocations spread over the sockets, too. */
int hm_decide_lane(int n_lanes);
/* So many bytes, above 0, have been placed in blocks. */
void hm_decide_pass_lanes(uint64_t bytes, uint64_t block_bytes);
bool hm_decide_is_fast(int node);
bool hm_decide_is_in_folders(const struct hm_known *known);

/* How many bytes of the allocation, that were asked for, are placed on nodes of the fast tier. */
size_t hm_decide_fast_bytes(const struct hm_known *known);

/* Choose a place for each block, by the allocation's policy; `fast` is as for hm_allocate. Takes the mappings for them.
 * Returns 0, or -1 where nothing can be chosen; the reason says why. */
int hm_decide(struct hm_known *known, const struct hm_alloc_hint *hint, const struct hm_place_slices *fast,
              struct hm_folders *folders);

/* Set the memory policies of the runs from `first` on; `has_pages`: pages that are elsewhere are moved. Returns -1
 * where the kernel refuses one: the data has the process's policy then, and the reason says so. */
int hm_decide_bind(struct hm_known *known, size_t first, bool has_pages);

/* Where the bytes are that an allocation grows by. */
struct hm_more {
    size_t bytes;
    size_t block_bytes;
    size_t fill_bytes; /* the first of them, which the last run gets */
    bool is_elsewhere; /* there was no room, or no mapping, for what the policy wants */
    size_t n_runs;     /* for the others */
    struct hm_alloc_run run[HM_KNOWN_MORE_RUNS];
};

/*
 * Choose a place for what an allocation grows by, up to `data_bytes`, a number of whole pages. What is added goes on in
 * the last run until that is a block, where it is in a tier that the policy wants. So an allocation that grows by small
 * steps has few runs. Takes the mappings for them. Returns false where they cannot be had.
 */
bool hm_decide_more(const struct hm_known *known, size_t data_bytes, enum hm_alloc_policy policy,
                    const struct hm_alloc_hint *hint, struct hm_more *more);
/* The allocation has grown so: adds the runs to it. */
void hm_decide_add(struct hm_known *known, const struct hm_more *more);
/* It has not: gives back the mappings. */
void hm_decide_forget(const struct hm_more *more);
/* Takes away all of the runs that is behind `data_bytes`, and the mappings of those of which nothing is left. */
void hm_decide_cut(struct hm_known *known, size_t data_bytes);

#endif
