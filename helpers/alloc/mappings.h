/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many mappings the library has of those that Linux gives a process (vm.max_map_count). Where none is left the
 * program's own mmap, dlopen and pthread_create fail: most of them stay the program's.
 */
#ifndef HM_ALLOC_MAPPINGS_H
#define HM_ALLOC_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>

/* Of an allocation in one block: what is known of it, the block, and a page that cannot be touched behind each. */
#define HM_MAPPINGS_LEAST 4

/* Take so many; any thread may. Returns false where ours would be more than three eighths of the process's. */
bool hm_mappings_take(size_t n);

/* Take so many more for an allocation's blocks. Returns false where ours would be more than a quarter: what is between
 * the two is for allocations in one block. */
bool hm_mappings_take_for_blocks(size_t n);

void hm_mappings_give(size_t n);

#endif
