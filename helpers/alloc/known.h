/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocations of this process. What is known of each stands in pages of its own before the data, in the same
 * mapping, so that nothing here needs malloc; a page that cannot be touched is before and behind the data.
 */
#ifndef HM_ALLOC_KNOWN_H
#define HM_ALLOC_KNOWN_H

#include "hybridmem.h"

struct hm_known {
    struct hm_known *next; /* in its bucket */
    char *data;
    size_t bytes, data_bytes; /* as asked for; in whole pages */
    char *base;               /* of the whole mapping */
    size_t base_bytes;
    size_t n_mappings;  /* taken for it */
    size_t block_bytes; /* 0: in no blocks */
    int policy;
    char reason[HM_ALLOC_REASON];
    size_t n_runs;
    struct hm_alloc_run run[];
};

/* Map memory for the data and `n_runs` runs. From `huge_page` bytes on the data is aligned to that. Returns NULL with
 * mmap's errno. Give it back with hm_known_unmap. */
struct hm_known *hm_known_map(size_t bytes, size_t n_runs, size_t page, size_t huge_page);
void hm_known_unmap(struct hm_known *known);

/* One lock for all of the library's state; it is held over fork, so that the child finds it whole. */
void hm_known_lock(void);
void hm_known_unlock(void);

/* With the lock held. */
void hm_known_add(struct hm_known *known);
struct hm_known *hm_known_find(const void *data); /* NULL: none of ours */
void hm_known_remove(struct hm_known *known);

#endif
