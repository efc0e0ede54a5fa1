/* SPDX-License-Identifier: Apache-2.0 */
/* The list of this process's allocations. Each has a descriptor in pages before its data, from the same mmap, so that
 * no malloc is needed. Guard pages before and after the data cannot be touched. */
#ifndef HM_ALLOC_KNOWN_H
#define HM_ALLOC_KNOWN_H

#include <stdbool.h>

#include "hybridmem.h"

struct hm_known {
    struct hm_known *next; /* next in the same hash bucket */
    char *data;
    size_t bytes, data_bytes; /* the size asked for; the same rounded up to pages */
    char *base;               /* start of what was mapped, guard pages included */
    size_t base_bytes;
    size_t n_mappings;  /* mappings that were taken for it (mappings.h) */
    size_t block_bytes; /* 0: not in blocks */
    int policy;
    bool is_marked; /* by the caller of hm_allocate */
    char reason[HM_ALLOC_REASON];
    size_t n_runs;
    struct hm_alloc_run run[];
};

/* Map memory for `bytes` bytes of data and a descriptor with room for `n_runs` runs. `page` and `huge_page` are the
 * kernel's page sizes; data of `huge_page` bytes or more is aligned to `huge_page`, less to `page`, and all to
 * `alignment`, a power of two. Returns NULL with the errno of mmap, or ENOMEM. Free it with hm_known_unmap. */
struct hm_known *hm_known_map(size_t bytes, size_t alignment, size_t n_runs, size_t page, size_t huge_page);
void hm_known_unmap(struct hm_known *known);

/* The one lock of the library's state. It is held over fork, so that the child finds the state whole. */
void hm_known_lock(void);
void hm_known_unlock(void);

/* The caller of these functions holds the lock. */
void hm_known_add(struct hm_known *known);
struct hm_known *hm_known_find(const void *data); /* NULL: not in the list */
void hm_known_remove(struct hm_known *known);

#endif
