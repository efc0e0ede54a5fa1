/* SPDX-License-Identifier: Apache-2.0 */
/* The NUMA nodes that pages are moved between: what is free on each, and their distances. */
#ifndef HM_MIGRATOR_MOVE_NODES_H
#define HM_MIGRATOR_MOVE_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/set.h"
#include "core/topology/topology.h"
#include "zones.h"

#define HM_NODES_NUMBERS 1024 /* the kernel's largest MAX_NUMNODES */
#define HM_NODES_PAUSE 256    /* most refreshes for which a node is closed */

struct hm_node_state {
    int id;
    unsigned tier;
    /* refreshes for which nothing goes there, as the kernel refused it: it is outside the cpuset of the job or of a
     * process, or gone; and how many they were at first, 0: it has taken a page since */
    unsigned closed_for, pause;
    /* at the last refresh; free_bytes includes file_bytes, and follows the moves since then */
    uint64_t total_bytes, free_bytes;
    uint64_t file_bytes;            /* file cache that counts as free, at the last refresh */
    uint64_t most_kept_bytes;       /* the reserve, as it was configured */
    uint64_t kept_bytes;            /* part of free_bytes that must stay free now: all of the reserve, or less */
    uint64_t expected_bytes;        /* what the step may allocate here soon, as a part of kept_bytes */
    unsigned without_files;         /* refreshes for which file cache does not count, as the kernel did not free it */
    uint8_t distance[HM_MAX_NODES]; /* to the other nodes, by their index here */
    unsigned n_cpus;                /* of its own */
    uint64_t away;                  /* from the CPUs of the process whose pages move: sum of the distances */
};

struct hm_nodes {
    unsigned n_tiers; /* fastest first */
    int n;
    struct hm_node_state node[HM_MAX_NODES];
    int8_t index[HM_NODES_NUMBERS];           /* index of a node's number in `node`; -1: in no tier */
    struct hm_watermarks marks[HM_MAX_NODES]; /* of each node, as they were read last */
    unsigned marks_left;                      /* how many times they may still be used before they are read again */
    int8_t of_cpu[HM_SET_BITS];               /* index of the node that a CPU belongs to; -1: none in a tier */
    bool is_bound; /* the process whose pages move may not run everywhere: `away` of each node tells where it may */
};

/*
 * Reads the nodes of the `n_tiers` tiers, the fast one first, their memory and distances. `reserve_bytes` of the fast
 * tier are kept free, divided among its nodes by size, until hm_nodes_keep() says less; UINT64_MAX: a fiftieth of each
 * node. Of the other nodes a fiftieth is kept free, too. File cache counts as free if the kernel would drop it for new
 * pages (hm_nodes_parse_free). Returns 0, or -1 (EINVAL: a node is in two tiers, too many nodes; ENOENT: no such node,
 * or its memory cannot be read; or the errno of reading which nodes are online).
 */
int hm_nodes_init(struct hm_nodes *nodes, const struct hm_set *tiers, unsigned n_tiers, uint64_t reserve_bytes,
                  struct hm_error *error);
/*
 * Reads a node's meminfo: `free_bytes` is what is free, `file_bytes` half of the file cache that need not be written
 * first. The kernel drops file cache, oldest first, for whoever asks for pages of this node; a node that has been up
 * for a while has hardly any other free memory. Half, because some of the cache is in use; in MemAvailable of the whole
 * machine, the kernel leaves out at most half. ("inactive" does not tell how much: with the multi-generational LRU it
 * may be next to nothing.) Returns 0, or -1 (EBADMSG). Pure.
 */
int hm_nodes_parse_free(const char *text, uint64_t *free_bytes, uint64_t *file_bytes);
/* Reads again what is free. */
void hm_nodes_refresh(struct hm_nodes *nodes);

/* The node's tier. One in no tier counts as the slowest, whatever it is: pages there may go up. */
unsigned hm_nodes_tier(const struct hm_nodes *nodes, int id);
/* Bytes of the fast tier, free or not. */
uint64_t hm_nodes_fast_total(const struct hm_nodes *nodes);
/* Bytes of the fast tier that are to stay free now. */
uint64_t hm_nodes_fast_kept(const struct hm_nodes *nodes);
/* Free bytes of the tier above what is to stay free. */
uint64_t hm_nodes_room(const struct hm_nodes *nodes, unsigned tier);
/*
 * Bytes of the fast tier that should be freed for what the step may allocate. Where others have taken what is to stay
 * free, no more than that: a step that allocates nothing does not give way to them.
 */
uint64_t hm_nodes_fast_short(const struct hm_nodes *nodes);
/*
 * How much of a node is to stay free: what the step may allocate there before the next decision (`expected_bytes`)
 * above the low watermark, at which its pages would go to another node; but at least the high watermark, up to which
 * the kernel reclaims, and at most `most_bytes`. What is below the low watermark always stays free. The node's
 * `cache_bytes` of files make up for what is missing to the high watermark: they are what the kernel reclaims first. In
 * bytes. Pure.
 */
uint64_t hm_nodes_kept(const struct hm_watermarks *marks, uint64_t most_bytes, uint64_t expected_bytes,
                       uint64_t cache_bytes);
/*
 * Sets what is to stay free of each fast node, by its watermarks, which one call in many reads. `expected_bytes` is
 * what the step may allocate in all; each node has its part by size. UINT64_MAX: not known. Then, and where the
 * watermarks cannot be read or the fast tier has no memory, all of the reserve stays free, and nothing is short.
 */
void hm_nodes_keep(struct hm_nodes *nodes, uint64_t expected_bytes);

/* Do several nodes have CPUs? Else it does not matter where a process may run. Pure. */
bool hm_nodes_matter(const struct hm_nodes *nodes);
/* From now on, room is taken for a process that may run on these CPUs. Pure. */
void hm_nodes_bind(struct hm_nodes *nodes, const struct hm_set *cpus);
/*
 * Takes `bytes` of room from a node of the tier that has so much above what it keeps. It is the nearest one to the CPUs
 * of hm_nodes_bind(), on average; if these are on all nodes that have CPUs, or on none that is known, the nearest to
 * `from`, where the page is. Of several that are as near, the one with the most room is taken, and filled by a huge
 * page at a time, so that neighbours stay together. Returns the node's number, or -1. Pure.
 */
int hm_nodes_take(struct hm_nodes *nodes, int from, unsigned tier, uint64_t bytes);
/* Adds room to a node: pages for which it was taken did not arrive, or pages left the node. Pure. */
void hm_nodes_give(struct hm_nodes *nodes, int id, uint64_t bytes);
/* Marks a node as full until the next refresh. Its file cache does not count as free for some time. Pure. */
void hm_nodes_fill(struct hm_nodes *nodes, int id);
/* Closes a node until the next refresh; each time that it is refused again, for twice as long, up to HM_NODES_PAUSE
 * refreshes. So a refusal that lasts costs next to nothing, and one that passes does no harm for long. Pure. */
void hm_nodes_close(struct hm_nodes *nodes, int id);
/* The kernel has moved a page to the node: a refusal after that is a new one. Pure. */
void hm_nodes_admit(struct hm_nodes *nodes, int id);

#endif
