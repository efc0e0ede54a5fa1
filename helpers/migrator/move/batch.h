/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One batch of page moves in one process, by move_pages(2) in as few calls as its answers allow:
 * sorted by destination, huge pages by one address each, the outcome of every page read back.
 */
#ifndef HM_MIGRATOR_MOVE_BATCH_H
#define HM_MIGRATOR_MOVE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "migrator/figures/progress.h"

#define HM_BATCH_PAGES 8192
#define HM_BATCH_HUGE 512 /* pages of a transparent huge page, and their alignment */

enum hm_outcome {
    HM_OUTCOME_NONE, /* not tried */
    HM_OUTCOME_MOVED,
    HM_OUTCOME_WITH_HUGE, /* moved, as part of a huge page that another candidate stands for */
    HM_OUTCOME_GONE,      /* not there any more */
    HM_OUTCOME_UNMOVED    /* + enum hm_unmoved */
};

struct hm_candidate {
    uint64_t page; /* number, of this process */
    int from, to;  /* nodes */
    bool may_be_huge;
    uint16_t aside;   /* pages of room set aside for it */
    uint16_t n_moved; /* pages that its move took along, itself included: 0, 1 or HM_BATCH_HUGE */
    uint8_t outcome;
};

struct hm_batch {
    size_t n;
    struct hm_candidate candidate[HM_BATCH_PAGES];
    int refused;  /* a node that the kernel refused (not in the cpuset, or without memory), -1: none */
    int full;     /* a node that had no page left, -1: none */
    bool is_over; /* the process has ended, or is not ours to touch */
    /* for the kernel */
    void *address[HM_BATCH_PAGES];
    int node[HM_BATCH_PAGES], status[HM_BATCH_PAGES];
    uint32_t chosen[HM_BATCH_PAGES];
};

/* Where pages are: status[i] gets the node, or a negative errno (ENOENT: not present). Any count. Returns 0, or -1
 * (ESRCH, EPERM): status is then not to be used. */
int hm_batch_query(struct hm_batch *batch, pid_t pid, const uint64_t *page, int *status, size_t count);

/* Move all candidates that were not tried yet; sorts them, and fills in their outcomes. */
void hm_batch_move(struct hm_batch *batch, pid_t pid);

#endif
