/* SPDX-License-Identifier: Apache-2.0 */
/* The NUMA nodes between which pages are moved: what is free on each, and which is nearest to which. */
#ifndef HM_MIGRATOR_MOVE_NODES_H
#define HM_MIGRATOR_MOVE_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/set.h"
#include "core/topology/topology.h"

#define HM_NODES_NUMBERS 1024 /* the kernel's largest MAX_NUMNODES */

struct hm_node_state {
    int id;
    bool is_fast;
    bool is_closed;                   /* the kernel refused it: outside of the job's cpuset, or gone */
    uint64_t total_bytes, free_bytes; /* at the last refresh, less what was moved since; file_bytes is in the latter */
    uint64_t file_bytes;              /* cache of files that counts, at the last refresh */
    uint64_t reserve_bytes;           /* of what is free */
    unsigned without_files;           /* refreshes that leave them out: the kernel did not give them away */
    uint8_t distance[HM_MAX_NODES];   /* to the other nodes, by index */
};

struct hm_nodes {
    int n;
    struct hm_node_state node[HM_MAX_NODES];
    int8_t index[HM_NODES_NUMBERS]; /* by node number, -1: in neither tier */
};

/*
 * The nodes of both tiers, what they have and their distances. `reserve_bytes` is kept free in the fast tier, spread
 * over its nodes by size; UINT64_MAX: a fiftieth of each. Slow nodes keep a fiftieth as well. Unused pages of files
 * count as free, below and here: the kernel keeps as much really free as its watermarks say. Returns 0, or -1 (EINVAL:
 * a set is empty, both have a node, too many nodes; ENOENT: no such node).
 */
int hm_nodes_init(struct hm_nodes *nodes, const struct hm_set *fast, const struct hm_set *slow, uint64_t reserve_bytes,
                  struct hm_error *error);
/*
 * From a node's meminfo: what is free, and half of what caches files and need not be written first. The kernel gives
 * the cache away to whoever asks for pages of this node, oldest first, and a node that was up for a while has hardly
 * anything free. Half, as MemAvailable has it for the whole machine: some of it is in use. (Which is not told by
 * "inactive": with the multi-generational LRU that may be next to nothing.) Returns 0, or -1 (EBADMSG). Pure.
 */
int hm_nodes_parse_free(const char *text, uint64_t *free_bytes, uint64_t *file_bytes);
/* Read again what is free. */
void hm_nodes_refresh(struct hm_nodes *nodes);

bool hm_nodes_is_fast(const struct hm_nodes *nodes, int id);
uint64_t hm_nodes_fast_total(const struct hm_nodes *nodes);
/* Free in the fast tier above the reserve. */
uint64_t hm_nodes_fast_room(const struct hm_nodes *nodes);

/* The node of the tier that is nearest to `from` and has `bytes` above its reserve: its number, or -1. The room is
 * taken. Pure. */
int hm_nodes_take(struct hm_nodes *nodes, int from, bool to_fast, uint64_t bytes);
/* Give room back (nothing arrived), or free it (pages left the node). Pure. */
void hm_nodes_give(struct hm_nodes *nodes, int id, uint64_t bytes);
/* Nothing more fits until the next refresh, and pages of files are no room for a while; nothing ever. Pure. */
void hm_nodes_fill(struct hm_nodes *nodes, int id);
void hm_nodes_close(struct hm_nodes *nodes, int id);

#endif
