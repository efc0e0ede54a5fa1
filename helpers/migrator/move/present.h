/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the pages of a range that are present. A mapping may be terabytes of holes (sanitizers, Java heaps), and asking
 * move_pages(2) for each page takes 70 ns a page. PAGEMAP_SCAN (Linux 6.7) walks page tables: 0.05 ms for a TiB of
 * holes, 12 ns for a present page. Without it /proc/PID/pagemap is read, at 3.5 ns for each page of a hole. If at least
 * a 32nd of the process's pages is present, the whole range is read. Otherwise reading stops where it would cost more
 * than looking up the present pages. So the cost grows with the present memory, not with the address space. All this
 * needs PTRACE_MODE_READ, as move_pages(2) does, and no privilege.
 */
#ifndef HM_MIGRATOR_MOVE_PRESENT_H
#define HM_MIGRATOR_MOVE_PRESENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>

#include "migrator/watch/maps.h"

#define HM_PRESENT_RUNS 1024    /* most runs found at a time */
#define HM_PRESENT_ENTRIES 2048 /* entries of the page map read at a time */
/*
 * How many missing pages may be read in the page map: HM_PRESENT_MISSING in each move (to read these takes
 * 0.06 ms), and HM_PRESENT_MISSING_EACH more for each page that is present, or must be present by the process's
 * resident size.
 */
#define HM_PRESENT_MISSING (UINT64_C(1) << 14)
#define HM_PRESENT_MISSING_EACH 32

struct hm_present_run {
    struct hm_range pages;
    bool may_be_huge; /* false only if the kernel says that it has no huge page */
    bool is_file;     /* true only if the kernel says that it is of files or shared */
};

struct hm_present {
    int pagemap;           /* -1: not readable; then every page counts as present */
    bool has_scan;         /* the kernel has PAGEMAP_SCAN: true until it says no */
    double density;        /* share of the process's mapped pages that are present */
    uint64_t at, end;      /* the pages at .. end - 1 are still to be looked at */
    struct hm_range later; /* pages to be looked at after those */
    uint64_t missing;      /* missing pages that may still be read in the page map */
    size_t n_runs, next;   /* run[next .. n_runs - 1] were found and not returned yet */
    struct hm_present_run run[HM_PRESENT_RUNS];
    uint64_t entry[HM_PRESENT_ENTRIES];
};

/* Sets `present` up, without a process. */
void hm_present_init(struct hm_present *present);
/* Opens a process whose mappings have `mapped` pages. hm_present_close() ends that. */
void hm_present_open(struct hm_present *present, pid_t pid, uint64_t mapped);
void hm_present_close(struct hm_present *present);

/*
 * Begins to look at the pages first .. end - 1. `turn` counts the looks at the same memory: if only a part of it can be
 * looked at, each odd turn begins at another place.
 */
void hm_present_begin(struct hm_present *present, uint64_t first, uint64_t end, uint64_t turn);
/*
 * Finds the next present pages, at most `room`, which must be hm_huge_pages() or more; pages that can be of one huge
 * page come together. `may_be_huge` is false for pages that are in no huge page by what PAGEMAP_SCAN says; else it is
 * true. `is_file` is true for pages that are of a file, or of shared memory, by what the page map says; else it is
 * false. They may be gone as soon as they are found. Returns their number; 0: no more.
 */
size_t hm_present_next(struct hm_present *present, uint64_t *page, bool *may_be_huge, bool *is_file, size_t room);

/* PAGEMAP_SCAN and its structs page_region and pm_scan_arg as in linux/fs.h since 6.7, for older headers. */
struct hm_present_range {
    uint64_t start, end, categories; /* start and end are addresses */
};

struct hm_present_scan {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define HM_PRESENT_SCAN _IOWR('f', 16, struct hm_present_scan)

/* Categories of pages, as there. */
#define HM_PRESENT_IS_FILE (UINT64_C(1) << 2)
#define HM_PRESENT_IS_PRESENT (UINT64_C(1) << 3)
#define HM_PRESENT_IS_SWAPPED (UINT64_C(1) << 4)
#define HM_PRESENT_IS_ZERO (UINT64_C(1) << 5) /* the zero page */
#define HM_PRESENT_IS_HUGE (UINT64_C(1) << 6)

#endif
