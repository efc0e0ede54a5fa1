/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's idle bitmap (CONFIG_IDLE_PAGE_TRACKING, Linux 4.3 and later): a bit for each page frame, which root
 * sets, and which is found clear after the page was used through any mapping. The kernel looks at a page when its bit
 * is read. It does not flush TLBs: a page whose translation stays cached looks idle.
 */
#ifndef HM_MIGRATOR_DAMON_BROKER_IDLEBITMAP_H
#define HM_MIGRATOR_DAMON_BROKER_IDLEBITMAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct hm_idle_bitmap {
    int bits, flags; /* descriptors of the bitmap and of /proc/kpageflags; -1: not open */
};

/* In place of a frame's number: the page is not in memory; the kernel does not follow it (a page of zeroes or of
 * hugetlb, or one that was just made), or processes of other users may use it (mapped more than once, and of a file or
 * merged), of which the client must not know. */
#define HM_IDLE_ABSENT UINT64_MAX
#define HM_IDLE_UNKNOWN (UINT64_MAX - 1)

/* Opens the bitmap, as root. Returns 0, or -1 with a text: ENOENT: this kernel has none. Then both are -1. */
int hm_idle_open(struct hm_idle_bitmap *bitmap, struct hm_error *error);
void hm_idle_close(struct hm_idle_bitmap *bitmap);
/*
 * Finds the frames of n pages of a process; page[] has their numbers. The frame of a page in a huge page is that of the
 * whole, which has one bit. Needs CAP_SYS_ADMIN for the numbers, and for the processes of others CAP_SYS_PTRACE and
 * CAP_DAC_READ_SEARCH. Returns 0, or -1 with a text.
 */
int hm_idle_find(const struct hm_idle_bitmap *bitmap, pid_t pid, const uint64_t *page, unsigned n, uint64_t *frame,
                 struct hm_error *error);
/* Sets the frame's bit. Returns 0 or -1. */
int hm_idle_mark(const struct hm_idle_bitmap *bitmap, uint64_t frame);
/* Was the frame used since its bit was set? If not, the bit stays set. Returns 0 or -1. */
int hm_idle_look(const struct hm_idle_bitmap *bitmap, uint64_t frame, bool *is_used);

#endif
