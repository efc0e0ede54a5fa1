/* SPDX-License-Identifier: Apache-2.0 */
/* An allocation from end to end, for hm_alloc and for the preload library. Nothing here calls malloc but
 * hm_layout_read. */
#ifndef HM_ALLOC_ALLOCATE_H
#define HM_ALLOC_ALLOCATE_H

#include <stdbool.h>

#include "known.h"

/* The most that an object can have. */
#define HM_ALLOCATE_MOST ((size_t)PTRDIFF_MAX)

/*
 * Map and place `size` bytes (above 0). `reason` (HM_ALLOC_REASON bytes) becomes why it is not placed as the policy
 * says, "" where it is. Returns NULL where there is no mapping to be had (errno), which malloc may have yet.
 */
void *hm_allocate(size_t size, enum hm_alloc_policy policy, const struct hm_alloc_hint *hint, char *reason);

/* Give back. Returns false where it is not ours: nothing was done. */
bool hm_deallocate(void *memory);

/* Bytes that may be used at `memory`, 0 where it is none of ours. */
size_t hm_allocated_bytes(const void *memory);

#endif
