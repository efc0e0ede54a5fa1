/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the mappings that this library uses, out of the number that Linux gives a process (vm.max_map_count). When a
 * process has no mapping left, its own mmap, dlopen and pthread_create fail; so the library leaves most of them to the
 * program.
 */
#ifndef HM_ALLOC_MAPPINGS_H
#define HM_ALLOC_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>

/* Mappings of an allocation in one block: its descriptor, the block, and a guard page after each of the two. */
#define HM_MAPPINGS_LEAST 4

/* Count `n` more mappings as used. Safe from any thread. Returns false where the library would use more than three
 * eighths of the limit. */
bool hm_mappings_take(size_t n);

/* Count `n` more mappings as used, for the blocks of one allocation. Returns false where the library would use more
 * than a quarter of the limit: the eighth above that is kept for allocations in one block. */
bool hm_mappings_take_for_blocks(size_t n);

/* Count `n` mappings as used no longer. */
void hm_mappings_give(size_t n);

#endif
