/* SPDX-License-Identifier: Apache-2.0 */
/* Makes, finds and frees placed allocations, for hm_alloc and for the preload library. No malloc is called here, except
 * by the hm_layout_read of libhybridmem (the preload library has another hm_layout_read, without malloc). */
#ifndef HM_ALLOC_ALLOCATE_H
#define HM_ALLOC_ALLOCATE_H

#include <stdbool.h>

#include "known.h"
#include "place.h"

/* The largest size that a C object can have, in bytes. */
#define HM_ALLOCATE_MOST ((size_t)PTRDIFF_MAX)

/*
 * Map `size` bytes (above 0), aligned to `alignment`, a power of two, and at least as hybridmem.h says, and place them
 * as the policy says; `fast` has the slices of them for which HM_ALLOC_SPILL
 * has the fast tier (NULL: a share). `reason` (HM_ALLOC_REASON bytes) gets the reason why they are placed otherwise, or
 * "". Returns NULL with errno where no mapping can be made, or in a signal handler that has interrupted another of
 * these functions; malloc may still have memory.
 */
void *hm_allocate(size_t size, size_t alignment, enum hm_alloc_policy policy, const struct hm_alloc_hint *hint,
                  const struct hm_place_slices *fast, char *reason);

/* What is known of an allocation. All is 0 where it did not come from hm_allocate. */
struct hm_allocated {
    size_t bytes;      /* its size */
    size_t fast_bytes; /* how many bytes of it were placed on nodes of the fast tier */
    bool is_marked;
};

/* Free placed memory. Returns false, and does nothing, where `memory` did not come from hm_allocate. `was`, which may
 * be NULL, becomes what hm_allocated would say. In a signal handler that has interrupted another of these functions,
 * the memory stays allocated: `was` is then zeros. */
bool hm_deallocate(void *memory, struct hm_allocated *was);

/* The same, but it may be kept for hm_allocate_kept (kept.h). */
bool hm_deallocate_to_keep(void *memory, struct hm_allocated *was);
/* Kept memory of this size and policy, aligned so, with what was written into it before. It may be larger by an eighth,
 * but not by more than `spare_bytes`; all of it then counts among its bytes of the fast tier. NULL: there is none. */
void *hm_allocate_kept(size_t size, size_t spare_bytes, size_t alignment, enum hm_alloc_policy policy);
/* Frees what is kept. */
void hm_give_back_kept(void);

struct hm_allocated hm_allocated(const void *memory);

/* Marks an allocation, for whatever the caller wants to know of it later. */
void hm_allocated_mark(const void *memory);

#endif
