/* SPDX-License-Identifier: Apache-2.0 */
/* Plans a job's namespaces: in which regions, and how much of each. Pure. */
#ifndef HM_NAMESPACE_PMEM_SHARE_H
#define HM_NAMESPACE_PMEM_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/set.h"
#include "core/request/request.h"
#include "core/topology/topology.h"

/* DAX maps files with pages of this size. Anything smaller than that, or not aligned to it, gets small pages. */
#define HM_DAX_ALIGN (UINT64_C(2) << 20)

struct hm_region {
    char name[24];   /* the kernel's name, "region0" */
    int socket;      /* index as in hm_topology; -1: unknown */
    uint64_t start;  /* physical address */
    uint64_t size;   /* in bytes, as the next ones */
    uint64_t free;   /* free bytes in all its gaps together */
    uint64_t extent; /* the largest gap; a namespace cannot be larger */
    uint64_t align;  /* alignment of a namespace's size and place */
    bool has_labels; /* it can be divided */
    bool is_enabled, is_read_only;
};

/* One namespace to be made. */
struct hm_share {
    const struct hm_region *region;
    uint64_t bytes; /* a multiple of the region's alignment */
};

/*
 * Can namespaces be made in the region, apart from room? Returns 0, or -1 with what is wrong and how to put it right.
 */
int hm_region_check(const struct hm_region *region, struct hm_error *error);

/*
 * Find the sockets that a word of --hybrid-mem means: all sockets with a region, or those of them that are local, or
 * the others. Regions that cannot be used count as well, as hm_share_plan refuses them with a reason. Returns 0, or -1
 * (ENODEV) where there are none.
 */
int hm_share_sockets(enum hm_socket which, const struct hm_region *region, int n_regions, const struct hm_set *local,
                     struct hm_set *sockets, struct hm_error *error);

/*
 * Split `bytes` evenly over the sockets. Each part is rounded up to the alignment of its region. A socket's part goes
 * to the region whose largest gap is the smallest that suffices. `share` is filled in the order of the sockets. Returns
 * the number of shares, or -1: EINVAL (no socket, a socket from HM_MAX_SOCKETS on, no bytes), ENODEV (no region at all,
 * or a socket without one), ENOSPC (no gap is large enough; the text names the largest), or the error of
 * hm_region_check.
 */
int hm_share_plan(const struct hm_region *region, int n_regions, const struct hm_set *sockets, uint64_t bytes,
                  struct hm_share share[HM_MAX_SOCKETS], struct hm_error *error);

#endif
