/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What allocations need to know of a node, without the rest of its tiers: which nodes are fast and slow, and on which
 * socket. Pure but for hm_layout_read.
 */
#ifndef HM_ALLOC_LAYOUT_H
#define HM_ALLOC_LAYOUT_H

#include "base/error.h"
#include "base/set.h"
#include "place.h"

struct hm_config;
struct hm_tiers;

struct hm_layout_node {
    int id;
    int socket; /* -1: not known */
    bool is_fast;
    uint64_t reserve_bytes; /* kept free: no block is placed into it */
};

struct hm_layout {
    int n_nodes;
    struct hm_layout_node node[HM_ALLOC_NODES];
    double fast_share;          /* of the blocks of spill: 1 where the tiers share their channels */
    char note[HM_ALLOC_REASON]; /* what is not known or not there, in words; "" for nothing */
};

/* The node's first tier is fast, its last one slow; those between have no part. With one tier all nodes are fast, and
 * `note` says so. */
void hm_layout_of_tiers(const struct hm_tiers *tiers, const struct hm_config *config, struct hm_layout *layout);

/* This node: hybridmem.conf and the node's cache of its topology, else hwloc. Without both the layout is empty and its
 * note says why. Uses malloc. */
void hm_layout_read(struct hm_layout *layout);

/* What one call of hm_alloc wants, beside its size. */
struct hm_layout_wish {
    enum hm_alloc_policy policy;
    struct hm_alloc_hint hint;
    int n_folders; /* of HYBRIDMEM_FSDAX_DIRS; the first is the first socket's */
    const uint64_t *folder_room_bytes;
    const struct hm_set *allowed;    /* nodes that the process may use */
    const uint64_t *node_room_bytes; /* by index of the layout's nodes, the reserve still in it */
};

/*
 * Fill in the lanes, the spots and the share; sizes and the first lane are the caller's. Nodes that are not allowed are
 * left out. `reason` (HM_ALLOC_REASON bytes) is added to where the policy cannot be had. Returns 0, or -1 where there
 * is no node to choose.
 */
int hm_layout_place(const struct hm_layout *layout, const struct hm_layout_wish *wish, struct hm_place *place,
                    char *reason);

/* Add a sentence (printf style) to a reason of HM_ALLOC_REASON bytes, behind "; ". */
void hm_reason_add(char *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
