/* SPDX-License-Identifier: Apache-2.0 */
/* A model of the kernel's move_pages(2) with its traps (do_pages_move() in mm/migrate.c), of the time that it takes,
 * and of PAGEMAP_SCAN. A test program links with --wrap for move_pages, clock_gettime, ioctl, and hm_present_open. */
#ifndef MOVEKERNEL_H
#define MOVEKERNEL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "migrator/move/batch.h"

#define MODEL_PID 77
#define FIRST 0x10000u /* page number at which the mapping begins: aligned to a huge page */
#define PAGES 4096u
#define ABSENT (-ENOENT)

struct move_kernel {
    int node[PAGES]; /* or ABSENT */
    bool is_huge[PAGES / HM_BATCH_HUGE], is_shared[PAGES], is_pinned[PAGES];
    int closed, full; /* nodes that are refused, or have no page left; -1: none */
    int result;       /* of every moving call, where not 0: an errno */
    unsigned moves, submitted[PAGES];
    size_t n_submitted, n_asked;      /* pages: to be moved; whose node was asked for */
    double page_s, took_s, longest_s; /* time of one page; of all calls; of the longest one */
};

extern struct move_kernel kernel;

/* All pages small, private, free to move and on this node; no node refused, none full; moves take no time. */
void kernel_reset(int node);
/* Pages on this node. */
unsigned kernel_count_on(int node);

#endif
