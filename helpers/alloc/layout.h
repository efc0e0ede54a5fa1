/* SPDX-License-Identifier: Apache-2.0 */
/* What allocations need to know of a node: which NUMA nodes are fast and slow, and on which socket each one is. Pure,
 * except for hm_layout_read. */
#ifndef HM_ALLOC_LAYOUT_H
#define HM_ALLOC_LAYOUT_H

#include "base/error.h"
#include "base/set.h"
#include "place.h"

struct hm_config;
struct hm_tiers;

struct hm_layout_node {
    int id;
    int socket; /* -1: unknown */
    bool is_fast;
    uint64_t reserve_bytes; /* bytes to keep free; they do not count as room */
};

struct hm_layout {
    int n_nodes;
    struct hm_layout_node node[HM_ALLOC_NODES];
    double fast_share; /* the fast tier's share of the blocks for HM_ALLOC_SPILL; 1 where the tiers share memory
                          channels */
    char note[HM_ALLOC_REASON]; /* what is unknown or missing, in words; "" for nothing */
};

/* Make the layout of a node's tiers: the first tier is the fast one, the last the slow one; tiers between them are not
 * used. Where there is one tier only, all its nodes are fast, and `note` says so. */
void hm_layout_of_tiers(const struct hm_tiers *tiers, const struct hm_config *config, struct hm_layout *layout);

/* Read the layout of this node. In libhybridmem (layoutread.c): from hybridmem.conf and the cached topology of this
 * boot, or from hwloc where there is no cache; uses malloc. Where that fails the layout is empty, and its note says
 * why. In the preload library (preloadlayout.c): from the environment, without malloc. Where that fails the layout is
 * empty, and so is its note. */
void hm_layout_read(struct hm_layout *layout);

/* What one call of hm_alloc asks for, except its size. */
struct hm_layout_wish {
    enum hm_alloc_policy policy;
    struct hm_alloc_hint hint;
    int n_folders;                     /* folders of HYBRIDMEM_FSDAX_DIRS; 0: none can be used */
    const int *folder_socket;          /* of each folder */
    const uint64_t *folder_room_bytes; /* 0: the folder cannot be used */
    const struct hm_set *allowed;      /* nodes that the process may use */
    const uint64_t *node_room_bytes;   /* by index of the layout's nodes; the reserve is still included */
};

/*
 * Fill in `place`: lanes, spots and the share of rank 0. The caller fills in sizes and the first lane. Nodes that are
 * not allowed are left out. Where the policy cannot be met, the reason is added to `reason` (HM_ALLOC_REASON bytes).
 * Returns 0, or -1 where there is no node to choose from.
 */
int hm_layout_place(const struct hm_layout *layout, const struct hm_layout_wish *wish, struct hm_place *place,
                    char *reason);

/* Append a sentence (printf style) to a reason of HM_ALLOC_REASON bytes; "; " separates it from the one before. */
void hm_reason_add(char *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
