/* SPDX-License-Identifier: Apache-2.0 */
/* From which regions a job's namespaces are taken, and how much of each. Pure. */
#ifndef HM_NAMESPACE_PMEM_SHARE_H
#define HM_NAMESPACE_PMEM_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/set.h"
#include "core/request/request.h"
#include "core/topology/topology.h"

/* DAX maps files by pages of this size; whatever is smaller or beside it makes them small ones. */
#define HM_DAX_ALIGN (UINT64_C(2) << 20)
/* Of the pages' map, for each page of 4 KiB. */
#define HM_DAX_MAP_ENTRY 64

struct hm_region {
    char name[24];   /* the kernel's, "region0" */
    int socket;      /* index as in hm_topology, -1 where it cannot be told */
    uint64_t start;  /* physical address */
    uint64_t size;   /* bytes, likewise the next */
    uint64_t free;   /* in all its gaps */
    uint64_t extent; /* the largest gap: what one namespace can have */
    uint64_t align;  /* of a namespace's size and place */
    bool has_labels; /* can be divided */
    bool is_enabled, is_read_only;
};

/* One namespace to be made. */
struct hm_share {
    const struct hm_region *region;
    uint64_t bytes; /* a multiple of the region's alignment */
};

/* Can namespaces be made in the region, apart from room? Returns 0, or -1 with what is wrong and how it is put right.
 */
int hm_region_check(const struct hm_region *region, struct hm_error *error);

/*
 * The sockets that a word of --hybrid-mem means: those of all regions, or of these the ones that are local, or are not.
 * Regions that cannot be used are among them: they are for hm_share_plan to refuse. Returns 0, or -1 (ENODEV): none.
 */
int hm_share_sockets(enum hm_socket which, const struct hm_region *region, int n_regions, const struct hm_set *local,
                     struct hm_set *sockets, struct hm_error *error);

/*
 * Split `bytes` evenly over the sockets, each part rounded up to the alignment of its region; of a socket's regions the
 * one is taken whose largest gap is the smallest that is enough. Fills `share` in the order of the sockets and returns
 * how many there are, or -1: EINVAL (no socket, no bytes), ENODEV (a socket without a region), ENOSPC (no gap is large
 * enough: the text names the largest), or as hm_region_check.
 */
int hm_share_plan(const struct hm_region *region, int n_regions, const struct hm_set *sockets, uint64_t bytes,
                  struct hm_share share[HM_MAX_SOCKETS], struct hm_error *error);

#endif
