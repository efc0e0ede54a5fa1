/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address ranges of a process whose pages may be moved: private anonymous memory, the heap and the stack. Files,
 * shared memory, huge pages of hugetlbfs, devices and what the kernel maps itself are left alone.
 */
#ifndef HM_MIGRATOR_WATCH_MAPS_H
#define HM_MIGRATOR_WATCH_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define HM_MAPS_RANGES 65536 /* of one process: the kernel's default limit of mappings is 65530 */

struct hm_range { /* pages of 4096 bytes */
    uint64_t first, n_pages;
};

struct hm_maps { /* ascending, without overlap */
    struct hm_range *range;
    size_t n, room;
    size_t most;      /* ranges that are kept at most; 0: HM_MAPS_RANGES */
    uint64_t n_pages; /* in all */
    bool is_apart;    /* mappings that touch stay ranges of their own */
};

/* One line of /proc/PID/maps. Returns 1 and the range where it may be moved, 0 where it may not, -1 (EBADMSG) where it
 * is no such line. Pure. */
int hm_maps_parse_line(const char *line, struct hm_range *range);

/* Add a range behind the last; joined with it where they touch (but is_apart). Returns 0, or -1 (ENOMEM, ENOSPC: too
 * many; EINVAL: not behind the last). */
int hm_maps_add(struct hm_maps *maps, struct hm_range range);

/* Read those of a process into `maps`, in place of what it held. Returns 0, or -1 (ESRCH, EACCES ...). A process with
 * too many ranges has its first ones. */
int hm_maps_read(struct hm_maps *maps, pid_t pid, struct hm_error *error);
void hm_maps_free(struct hm_maps *maps);

/* The first range that ends behind `page`: an index, maps->n where there is none. Pure. */
size_t hm_maps_find(const struct hm_maps *maps, uint64_t page);
/* Pages of the ranges within first .. first + n_pages - 1. Pure. */
uint64_t hm_maps_count(const struct hm_maps *maps, uint64_t first, uint64_t n_pages);

/* Called for each piece of `before` that is not in `now`. */
typedef void hm_maps_gone(void *data, struct hm_range range);
void hm_maps_compare(const struct hm_maps *before, const struct hm_maps *now, hm_maps_gone *gone, void *data);

#endif
