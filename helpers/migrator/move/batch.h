/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves one batch of pages of one process, with as few calls of move_pages(2) as possible. Pages are sorted by
 * destination, a huge page is moved by one of its addresses, and the outcome of each page is read back.
 */
#ifndef HM_MIGRATOR_MOVE_BATCH_H
#define HM_MIGRATOR_MOVE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "migrator/figures/progress.h"
#include "migrator/watch/maps.h"

#define HM_BATCH_PAGES 8192 /* most candidates in a batch: those of a huge page, however large pages are */

enum hm_outcome {
    HM_OUTCOME_NONE, /* not tried */
    HM_OUTCOME_MOVED,
    HM_OUTCOME_WITH_HUGE, /* moved as part of a huge page, by another candidate */
    HM_OUTCOME_GONE,      /* not present any more */
    HM_OUTCOME_UNMOVED    /* + enum hm_unmoved */
};

struct hm_candidate {
    uint64_t page; /* page number in this process */
    int from, to;  /* nodes */
    bool may_be_huge;
    uint16_t aside;   /* pages that hm_nodes_take has reserved for this move */
    uint16_t n_moved; /* pages that its own move has moved, itself included: 0, 1 or hm_huge_pages() */
    uint8_t outcome;  /* enum hm_outcome, with enum hm_unmoved added to HM_OUTCOME_UNMOVED */
};

struct hm_batch {
    size_t n;
    bool for_all; /* the pages are the user's: they may be moved though several processes map them (watch/powers.h) */
    struct hm_candidate candidate[HM_BATCH_PAGES];
    int refused;  /* a node that the kernel refused (not in the cpuset, or without memory); -1: none */
    int full;     /* a node without a free page; -1: none */
    bool is_over; /* the process has ended or may not be touched, or a call failed in a way that is not about a node */
    /* buffers for move_pages(2) */
    void *address[HM_BATCH_PAGES];
    int node[HM_BATCH_PAGES], status[HM_BATCH_PAGES];
    uint32_t chosen[HM_BATCH_PAGES];
};

/*
 * Looks up where pages are: status[i] becomes the node, or a negative errno (ENOENT: not present). Any number of pages.
 * Returns 0, or -1 with the errno of move_pages (ESRCH, EPERM ...); then `status` is undefined.
 */
int hm_batch_query(struct hm_batch *batch, pid_t pid, const uint64_t *page, int *status, size_t count);

/* Moves all candidates with HM_OUTCOME_NONE. Sorts the candidates, and sets their outcomes. */
void hm_batch_move(struct hm_batch *batch, pid_t pid);

#endif
