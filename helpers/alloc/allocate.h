/* SPDX-License-Identifier: Apache-2.0 */
/* Makes, finds and frees placed allocations, for hm_alloc and for the preload library. No malloc is called here, except
 * by the hm_layout_read of libhybridmem (the preload library has another hm_layout_read, without malloc). */
#ifndef HM_ALLOC_ALLOCATE_H
#define HM_ALLOC_ALLOCATE_H

#include <stdbool.h>

#include "known.h"

/* The largest size that a C object can have, in bytes. */
#define HM_ALLOCATE_MOST ((size_t)PTRDIFF_MAX)

/*
 * Map `size` bytes (above 0) and place them as the policy says. `reason` (HM_ALLOC_REASON bytes) gets the reason why
 * they are placed otherwise, or "". Returns NULL with errno where no mapping can be made; malloc may still have memory.
 */
void *hm_allocate(size_t size, enum hm_alloc_policy policy, const struct hm_alloc_hint *hint, char *reason);

/* Free placed memory. Returns false, and does nothing, where `memory` did not come from hm_allocate. `fast_bytes`,
 * which may be NULL, becomes what hm_allocated_fast_bytes would say. */
bool hm_deallocate(void *memory, size_t *fast_bytes);

/* Size of the allocation at `memory`, in bytes; 0 where it did not come from hm_allocate. */
size_t hm_allocated_bytes(const void *memory);

/* How many of the allocation's bytes were placed on nodes of the fast tier, at most as many as were asked for. */
size_t hm_allocated_fast_bytes(const void *memory);

#endif
