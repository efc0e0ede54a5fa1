/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations of less than HM_ALLOC_LEAST bytes that a preload library places, for preload.c. nosmall.c is for a
 * library that places none. None of these calls malloc. hm_small_take and hm_small_give may change errno.
 */
#ifndef HM_ALLOC_SMALL_H
#define HM_ALLOC_SMALL_H

#include <stdbool.h>
#include <stddef.h>

#include "forklock.h"
#include "preload.h"

/* To be registered before the first of these calls. */
extern const struct hm_fork_handlers hm_small_fork;

/* Memory for an allocation of less than HM_ALLOC_LEAST bytes that is to be there. `alignment` is a power of two. NULL
 * where the next library should serve it. */
void *hm_small_take(size_t alignment, size_t bytes, bool is_zeroed, struct hm_preload_where where);

/* Is it such memory? Any address can be asked for. */
bool hm_small_has(const void *memory);
/* May it stay what it is where realloc has another size for it, and it is to be there? */
bool hm_small_stays(const void *memory, struct hm_preload_where where);
/* The bytes that can be used of it, at least as many as were asked for. */
size_t hm_small_bytes(const void *memory);
/* Takes back such memory: frees it, but in a handler of fork. False: it is none, or NULL. */
bool hm_small_give(void *memory);

#endif
