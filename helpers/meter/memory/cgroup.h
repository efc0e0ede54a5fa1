/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's memory by tier, read from the memory and hugetlb files of its cgroup (v2).
 */
#ifndef HM_METER_MEMORY_CGROUP_H
#define HM_METER_MEMORY_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/topology/topology.h"
#include "usage.h"

#define HM_CGROUP_NODES 1024 /* the kernel's largest MAX_NUMNODES */
#define HM_CGROUP_HUGETLB 8  /* huge page sizes; arm64 has four */

/* The index of each node's tier; -1: the node is in no tier. */
struct hm_node_map {
    int8_t tier[HM_CGROUP_NODES];
};

struct hm_cgroup {
    int dir;
    int numa_stat, peak, current; /* -1: not open (yet) */
    int n_hugetlb;
    int hugetlb[HM_CGROUP_HUGETLB];
    char *text; /* the text that was read last */
};

struct hm_reading {
    bool has_usage;
    bool has_hugetlb;
    struct hm_usage usage[HM_MAX_TIERS];
    enum hm_peak_source peak_source;
    uint64_t peak;            /* memory.peak, or the present memory.current */
    char missing[HM_WARNING]; /* the first thing missing, and why; or that memory is in no tier; "" otherwise */
};

/* Fill in the map. `tier_nodes` has the nodes of each of the `n_tiers` tiers. */
void hm_node_map_fill(struct hm_node_map *map, const struct hm_set *tier_nodes, uint32_t n_tiers);

/*
 * Parse the text of memory.numa_stat into `usage`, in bytes; shared memory is taken out of the page cache. Lines with
 * unknown keys are skipped. *outside becomes true where there are bytes on a node of no tier. Returns 0, or -1
 * (EBADMSG) where a line that counts is malformed, a sum overflows, the last line is not complete, or "anon" or "file"
 * is missing. Pure.
 */
int hm_numastat_parse(const char *text, size_t length, const struct hm_node_map *map,
                      struct hm_usage usage[HM_MAX_TIERS], bool *outside);

/* Add the bytes in the text of a hugetlb.SIZE.numa_stat: one line, "total=BYTES N0=BYTES ...". Returns and *outside are
 * as for hm_numastat_parse. Pure. */
int hm_hugetlb_parse(const char *text, size_t length, const struct hm_node_map *map,
                     struct hm_usage usage[HM_MAX_TIERS], bool *outside);

/* Open the cgroup's folder. hm_cgroup_read opens its files once they are there. Returns 0, or -1 with errno and nothing
 * to close. */
int hm_cgroup_open(struct hm_cgroup *cgroup, const char *path);
void hm_cgroup_close(struct hm_cgroup *cgroup);

/* Read all files. `reading` says what could not be read. Returns 0, or -1 (ENODEV) where the cgroup was removed. */
int hm_cgroup_read(struct hm_cgroup *cgroup, const struct hm_node_map *map, struct hm_reading *reading);

#endif
