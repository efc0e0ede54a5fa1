/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations of less than HM_ALLOC_LEAST bytes that a preload library places, for preload.c. nosmall.c is for a
 * library that places none. None of these calls malloc; all keep errno but hm_small_take.
 */
#ifndef HM_ALLOC_SMALL_H
#define HM_ALLOC_SMALL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Memory for an allocation of less than HM_ALLOC_LEAST bytes. `alignment` is a power of two; `caller`
 * is the return address of the function that the program has called. NULL where the next library should serve it.
 */
void *hm_small_take(size_t alignment, size_t bytes, bool is_zeroed, const void *caller);

/* Is it such memory? Any address can be asked for. */
bool hm_small_has(const void *memory);
/* The bytes that can be used of it, at least as many as were asked for. */
size_t hm_small_bytes(const void *memory);
void hm_small_give(void *memory);

#endif
