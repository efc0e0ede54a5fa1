/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages of a range that are there. A mapping may be terabytes of holes (sanitizers, Java heaps), and asking
 * move_pages(2) for each page of it takes 70 ns a page. PAGEMAP_SCAN (Linux 6.7) goes by page tables: 0.05 ms for a TiB
 * of holes, 12 ns for a page that is there. Without it /proc/PID/pagemap is read, 3.5 ns for each page of a hole: all
 * of it where a 32nd of the process' memory is there, else so much that it costs no more than looking up what is there.
 * So a look grows with what is there, not with the address space. All of this needs PTRACE_MODE_READ, as move_pages(2)
 * does, and no privilege.
 */
#ifndef HM_MIGRATOR_MOVE_PRESENT_H
#define HM_MIGRATOR_MOVE_PRESENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>

#include "migrator/watch/maps.h"

#define HM_PRESENT_BLOCK 512    /* pages of a huge page, and their alignment */
#define HM_PRESENT_RUNS 1024    /* known at a time */
#define HM_PRESENT_ENTRIES 2048 /* of the page map, in one reading */
/* Where the page map is read: so many missing pages are passed over for each that is there or must be by the process'
 * resident size, and so many in any case, at each hm_present_open(): 0.06 ms. */
#define HM_PRESENT_MISSING_EACH 32
#define HM_PRESENT_MISSING (UINT64_C(1) << 14)

struct hm_present {
    int pagemap;           /* -1: there is none; then every page is taken to be there */
    bool has_scan;         /* until the kernel says no */
    double density;        /* share of the process' pages that are there */
    uint64_t at, end;      /* page numbers: what was not looked at yet */
    struct hm_range later; /* after that */
    uint64_t missing;      /* that may still be passed over, where the page map is read */
    size_t n_runs, next;   /* run[next .. n_runs - 1] are found and not handed out yet */
    struct hm_range run[HM_PRESENT_RUNS];
    uint64_t entry[HM_PRESENT_ENTRIES];
};

/* Nothing is open. */
void hm_present_init(struct hm_present *present);
/* Turn to a process that has so many pages in its mappings; hm_present_close() when done with it. */
void hm_present_open(struct hm_present *present, pid_t pid, uint64_t mapped);
void hm_present_close(struct hm_present *present);

/*
 * Look at the pages first .. end - 1. `turn` counts the looks at the same memory: where only so much of it can be
 * looked at, every other turn begins elsewhere.
 */
void hm_present_begin(struct hm_present *present, uint64_t first, uint64_t end, uint64_t turn);
/* The next pages that are there, `room` at most, which is HM_PRESENT_BLOCK or more; those of one block come together.
 * They may be gone when this returns. Returns their number, 0: no more. */
size_t hm_present_next(struct hm_present *present, uint64_t *page, size_t room);

/* PAGEMAP_SCAN as in linux/fs.h from 6.7 on, for headers that are older. */
struct hm_present_region {
    uint64_t start, end, categories; /* addresses */
};

struct hm_present_scan {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define HM_PRESENT_SCAN _IOWR('f', 16, struct hm_present_scan)

#endif
