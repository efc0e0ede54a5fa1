/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model of the kernel's move_pages(2) with its traps (do_pages_move() in mm/migrate.c), of the time it takes, and of
 * the page map with PAGEMAP_SCAN. A test program must link with --wrap for move_pages, clock_gettime, ioctl and pread.
 */
#ifndef MOVEKERNEL_H
#define MOVEKERNEL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/pagesize.h"
#include "migrator/move/batch.h"

#define MODEL_PID 77
#define FIRST 0x10000u /* first page number of the mapping, aligned to a huge page */
#define PAGES ((unsigned)(8 * hm_huge_pages()))
#define MOST_PAGES 65536u /* with pages of 64 KiB */
#define ABSENT (-ENOENT)

struct move_kernel {
    int node[MOST_PAGES]; /* a node, or ABSENT */
    bool is_huge[8], is_shared[MOST_PAGES], is_pinned[MOST_PAGES], is_file[MOST_PAGES];
    int closed, full;                      /* closed: a node that is refused; full: one without a free page; -1: none */
    int result;                            /* errno of each moving call; 0: it works */
    unsigned moves, submitted[MOST_PAGES]; /* number of moving calls, and of those that named the page */
    bool for_all;                          /* the present call moves pages for all who map them */
    size_t n_for_all;                      /* pages in such calls */
    size_t n_submitted, n_asked;           /* pages that were to be moved, and pages whose node was asked for */
    unsigned n_opened;                     /* how often a page map was opened */
    double page_s, took_s, longest_s;      /* seconds for one page, for all calls, and for the longest call */
};

extern struct move_kernel kernel;

/* All pages are small, private, movable and on this node; no node is refused or full; moves take no time. */
void kernel_reset(int node);
/* Number of pages on this node. */
unsigned kernel_count_on(int node);

#endif
