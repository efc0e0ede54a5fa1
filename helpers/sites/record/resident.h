/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of each site's memory is resident: its pages are in memory, or swapped out. The kernel takes a page when it
 * is touched first, so memory that is allocated and never touched needs no room. The processes' page maps
 * (/proc/PID/pagemap) tell. What a process shares with others is counted in full (MAP_SHARED), as its page map does not
 * have what others have touched, or where it is allocated (fork). One thread.
 */
#ifndef HM_SITES_RECORD_RESIDENT_H
#define HM_SITES_RECORD_RESIDENT_H

#include "watch.h"

#define HM_WATCH_RESIDENT_SHARE 0.25 /* of the CPU time for samples; looks at page maps have it besides */

struct hm_watch_seen {            /* of a site */
    double bytes, resident_bytes; /* by the last look */
    uint32_t slices; /* of its large allocations (profile/slices.h), those that any look has seen touched */
    bool is_whole;   /* slices do not tell: of some of its memory, any part may have been touched */
};

struct hm_watch_resident {
    double share;           /* CPUs that looks may use */
    double spent_s, cost_s; /* CPU time of all looks, and of the last one */
    bool has_scan;          /* the kernel may have PAGEMAP_SCAN */
    uint64_t phase;         /* which of the windows are looked at, where they are too many */
    uint64_t n_looks;
    struct hm_watch_seen site[HM_SITES_ENTRIES];
};

/* The program starts now. `cpus`: how many samples may use; `seed` is any number. */
void hm_watch_resident_begin(struct hm_watch_resident *resident, double cpus, uint64_t seed);
/*
 * Looks at the page maps, where that is paid for: after hm_watch_look. Of very much memory, at a part: each `n`th
 * window of addresses. Returns whether it has looked; else `site` is as before. It has not, too, where the page map of
 * a process cannot be read, as it has just ended, or is not the user's to read.
 */
bool hm_watch_resident_look(struct hm_watch_resident *resident, struct hm_watch *watch);

#endif
