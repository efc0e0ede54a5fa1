/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls and kernel files that allocation needs. They are called directly, without libnuma and without
 * malloc, as the preload library calls them from malloc. Functions that return int return -1 with errno where they
 * fail. */
#ifndef HM_ALLOC_KERNEL_H
#define HM_ALLOC_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/set.h"

/* Map `bytes` bytes of addresses that cannot be accessed yet. Returns MAP_FAILED with errno where it fails. */
void *hm_kernel_map(size_t bytes);

/* mremap(2), not that of a library which replaces it. Returns MAP_FAILED with errno where it fails. */
void *hm_kernel_remap(void *memory, size_t bytes, size_t new_bytes, int flags, void *wanted);

/* May the process have fewer addresses than there are (RLIMIT_AS)? */
bool hm_kernel_limits_addresses(void);

/* Let new pages of this range come from the node, or, where it is full, from the nodes nearest to it (MPOL_PREFERRED):
 * so no process is killed because one node is full. */
int hm_kernel_prefer(void *memory, size_t bytes, int node);

/* The same, and pages that are elsewhere are moved. */
int hm_kernel_move_to(void *memory, size_t bytes, int node);

/* The same as hm_kernel_prefer for several nodes, of which pages are taken in turn; one is preferred. The set is not
 * empty. */
int hm_kernel_prefer_any(void *memory, size_t bytes, const struct hm_set *nodes);

/* The same, and pages that are there already are moved. Where there are none, it costs much more all the same. */
int hm_kernel_move_to_any(void *memory, size_t bytes, const struct hm_set *nodes);

/* Go back to the process's own policy for the whole range, which is then one mapping again. */
int hm_kernel_default(void *memory, size_t bytes);

/* Get the nodes that this process may allocate from (its cpuset). */
int hm_kernel_allowed(struct hm_set *nodes);

/* Get the node of each page, or a negative errno where the page is not in memory (ENOENT, EFAULT). */
int hm_kernel_where(size_t count, void *const *page, int *node);

/* Get the free memory of a node (MemFree), in bytes. */
int hm_kernel_free_bytes(int node, uint64_t *bytes);

/* Get the bytes of a huge page, where a mapping (MAP_HUGETLB) says no other size. */
int hm_kernel_huge_bytes(uint64_t *bytes);

/* The time since some moment; it may be some milliseconds old. */
uint64_t hm_kernel_now_ns(void);

/* Get vm.max_map_count. */
int hm_kernel_most_mappings(uint64_t *n);

#endif
