/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes have free for this process: what the kernel says, less what our own allocations were promised there and
 * have not touched yet. The caller holds the library's lock.
 */
#ifndef HM_ALLOC_ROOM_H
#define HM_ALLOC_ROOM_H

#include "layout.h"

/* Fill in the room of each of the layout's nodes. A node whose free memory cannot be read has as much as is asked for.
 */
void hm_room_read(const struct hm_layout *layout, uint64_t room_bytes[HM_ALLOC_NODES]);

/* The runs were placed; or are given back. */
void hm_room_take(const struct hm_layout *layout, const struct hm_alloc_run *run, size_t n_runs);
void hm_room_give(const struct hm_layout *layout, const struct hm_alloc_run *run, size_t n_runs);

/* Of a node: `free_bytes` now, `most_bytes` that were ever seen free while something was promised, `promised_bytes`.
 * Promised memory that was touched is missing in free_bytes already, so that it is not taken off again. Pure. */
uint64_t hm_room_of(uint64_t free_bytes, uint64_t most_bytes, uint64_t promised_bytes);

#endif
