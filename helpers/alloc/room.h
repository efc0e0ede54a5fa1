/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the room that nodes have for this process: the free memory that the kernel reports, less what was placed
 * there and has not been touched yet. The kernel is asked ten times a second at most, as a file is read for each node;
 * between two looks, what is placed and freed counts. The caller holds the library's lock, but for hm_room_look. */
#ifndef HM_ALLOC_ROOM_H
#define HM_ALLOC_ROOM_H

#include <stdbool.h>

#include "base/set.h"
#include "layout.h"

/* What the kernel tells. */
struct hm_room_look {
    bool is_new;       /* else nothing else is set */
    int allowed_errno; /* 0: `allowed` is set */
    struct hm_set allowed;
    uint64_t free_bytes[HM_ALLOC_NODES]; /* by index of the layout's nodes; UINT64_MAX: it cannot be read */
};

/* Asks the kernel, if the last look is too old or `at_once`. The caller does not hold the lock, so that other threads
 * do not wait for the files, in which a thread may be cancelled. hm_room_note has to follow. */
void hm_room_look(const struct hm_layout *layout, bool at_once, struct hm_room_look *look);
void hm_room_note(const struct hm_layout *layout, const struct hm_room_look *look);

/* The nodes that the process may use, at the last look. NULL with errno: the kernel did not tell. */
const struct hm_set *hm_room_allowed(void);

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
