/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel is asked for. System calls as they are, without libnuma, and without malloc: the preload library is
 * called from it. All return -1 with errno where they fail.
 */
#ifndef HM_ALLOC_KERNEL_H
#define HM_ALLOC_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/set.h"

/* New pages of these addresses come from the node, and from the nodes nearest to it where it is full (MPOL_PREFERRED):
 * never is a process killed for want of room on one node. */
int hm_kernel_prefer(void *memory, size_t bytes, int node);

/* All of it as the process's own policy says again: one mapping, where preferences had cut it. */
int hm_kernel_default(void *memory, size_t bytes);

/* The nodes that this process may allocate from (its cpuset). */
int hm_kernel_allowed(struct hm_set *nodes);

/* The node of each page, or a negative errno (ENOENT, EFAULT: not there). */
int hm_kernel_where(size_t count, void *const *page, int *node);

/* MemFree of a node. */
int hm_kernel_free_bytes(int node, uint64_t *bytes);

/* vm.max_map_count. */
int hm_kernel_most_mappings(uint64_t *n);

#endif
