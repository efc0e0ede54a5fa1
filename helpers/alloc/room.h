/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the room that nodes have for this process: the free memory that the kernel reports, less what was placed
 * there and has not been touched yet. The caller holds the library's lock. */
#ifndef HM_ALLOC_ROOM_H
#define HM_ALLOC_ROOM_H

#include "layout.h"

/* Get the room of each node of the layout, in bytes. A node whose free memory cannot be read gets UINT64_MAX. */
void hm_room_read(const struct hm_layout *layout, uint64_t room_bytes[HM_ALLOC_NODES]);

/* Count the memory of these runs as promised: it is placed, and may be touched at any time. */
void hm_room_take(const struct hm_layout *layout, const struct hm_alloc_run *run, size_t n_runs);
/* Count the memory of these runs as promised no longer: it is freed. */
void hm_room_give(const struct hm_layout *layout, const struct hm_alloc_run *run, size_t n_runs);

/*
 * Room of a node: `free_bytes`, its free memory now, but at most `most_bytes` less `promised_bytes`. `most_bytes` is
 * the most free memory that was seen since something was promised. (`free_bytes` less `promised_bytes` would be too
 * little: promised memory that has been touched is not free any more, and would count twice.) Pure.
 */
uint64_t hm_room_of(uint64_t free_bytes, uint64_t most_bytes, uint64_t promised_bytes);

#endif
