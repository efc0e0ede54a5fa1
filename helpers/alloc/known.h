/* SPDX-License-Identifier: Apache-2.0 */
/* The list of this process's allocations. Each has a descriptor in pages before its data, from the same mmap, so that
 * no malloc is needed. Guard pages before and after the data cannot be touched. */
#ifndef HM_ALLOC_KNOWN_H
#define HM_ALLOC_KNOWN_H

#include <stdbool.h>

#include "forklock.h"
#include "hybridmem.h"

#define HM_KNOWN_HUGE_PAGE ((size_t)2 << 20)
#define HM_KNOWN_MORE_RUNS 128 /* for what realloc adds; those that are not used take addresses only */

struct hm_known {
    struct hm_known *next; /* next in the same hash bucket */
    char *data;
    size_t bytes, data_bytes; /* the size asked for; what is mapped for it: whole pages */
    size_t used_bytes;        /* of the data, its front: what is behind was mapped ahead, and not asked for yet */
    char *base;               /* start of what was mapped, guard pages included */
    size_t base_bytes;
    bool is_apart;      /* the data is elsewhere, without guard pages: hm_known_move has found no other place */
    size_t n_mappings;  /* mappings that were taken for it (mappings.h) */
    size_t block_bytes; /* 0: not in blocks */
    int policy;
    bool is_marked; /* by the caller of hm_allocate */
    char reason[HM_ALLOC_REASON];
    size_t n_runs, most_runs; /* most: for which there is room here */
    struct hm_alloc_run run[];
};

/* Map memory for `bytes` bytes of data and a descriptor with room for at least `n_runs` runs. Data of
 * HM_KNOWN_HUGE_PAGE bytes or more is aligned to that, less to pages, and all to `alignment`, a power of two.
 * `is_for_move`: other memory is moved over the data, which cannot be accessed before. Returns NULL with the errno of
 * mmap, or ENOMEM. Free it with hm_known_unmap. */
struct hm_known *hm_known_map(size_t bytes, size_t alignment, size_t n_runs, bool is_for_move);
void hm_known_unmap(struct hm_known *known);

/*
 * Change `data_bytes`, to a number of whole pages above 0, while the allocation is not in the list. No page is copied;
 * `bytes` and the runs stay as they are. What is added is zeroed, and has the policy of the last run.
 */
/* Make it larger where it is. False: it is as it was, as its last run is not one mapping (the program has changed a
 * part of it), or other memory is behind it. */
bool hm_known_grow(struct hm_known *known, size_t data_bytes);
/* Move and enlarge data that is one mapping. Returns its descriptor, which may be another; NULL: all is as it was. */
struct hm_known *hm_known_move(struct hm_known *known, size_t data_bytes);
/* Make it smaller. False: it is as it was. */
bool hm_known_shrink(struct hm_known *known, size_t data_bytes);

/* The one lock of the library's state (forklock.h). It is held over fork, where `hm_known_fork` is registered. Where
 * hm_known_lock returns false, the caller is in a signal handler that has interrupted this thread's use of the lock:
 * then the list may be read, but nothing changed, and hm_known_unlock must not follow. */
extern const struct hm_fork_handlers hm_known_fork;
bool hm_known_lock(void);
void hm_known_unlock(void);

/* The caller of these functions holds the lock. */
void hm_known_add(struct hm_known *known);
struct hm_known *hm_known_find(const void *data); /* NULL: not in the list */
void hm_known_remove(struct hm_known *known);

#endif
