/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address ranges of a process whose pages may be moved: private anonymous memory, the heap and the stack. Not
 * files, shared memory, huge pages of hugetlbfs, devices, the kernel's own mappings, or mappings without any access.
 */
#ifndef HM_MIGRATOR_WATCH_MAPS_H
#define HM_MIGRATOR_WATCH_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define HM_MAPS_RANGES 65536 /* of one process; the kernel allows 65530 mappings by default */

struct hm_range { /* the kernel's pages (base/pagesize.h) */
    uint64_t first, n_pages;
};

struct hm_maps { /* ranges in ascending order, without overlap */
    struct hm_range *range;
    size_t n, room;
    size_t most;      /* most ranges that are kept; 0: HM_MAPS_RANGES */
    uint64_t n_pages; /* sum over all ranges */
    bool is_apart;    /* adjacent mappings are not joined */
};

/*
 * Parses a line of /proc/PID/maps. Returns 1 and the range if its pages may be moved, 0 if not, -1 (EBADMSG) if the
 * line has another form. Pure.
 */
int hm_maps_parse_line(const char *line, struct hm_range *range);

/*
 * Adds a range after the last one. If the two touch, they are joined, unless `is_apart`. Returns 0, or -1 (ENOMEM;
 * ENOSPC: too many ranges; EINVAL: the range begins before the last one ends).
 */
int hm_maps_add(struct hm_maps *maps, struct hm_range range);

/*
 * Replaces the content of `maps` by the ranges of the process; hm_maps_free frees them. Returns 0, or -1 (ENOENT or
 * ESRCH: the process has ended; else the errno of open(2)). If there are too many ranges, or memory is short, only the
 * first are read.
 */
int hm_maps_read(struct hm_maps *maps, pid_t pid, struct hm_error *error);
void hm_maps_free(struct hm_maps *maps);

/* The index of the first range that contains `page` or comes after it; maps->n if there is none. Pure. */
size_t hm_maps_find(const struct hm_maps *maps, uint64_t page);
/* How many pages from `first` to `first` + n_pages - 1 are in the ranges. Pure. */
uint64_t hm_maps_count(const struct hm_maps *maps, uint64_t first, uint64_t n_pages);

/* hm_maps_compare calls `gone` for each piece of `before` that is not in `now`. */
typedef void hm_maps_gone(void *data, struct hm_range range);
void hm_maps_compare(const struct hm_maps *before, const struct hm_maps *now, hm_maps_gone *gone, void *data);

#endif
