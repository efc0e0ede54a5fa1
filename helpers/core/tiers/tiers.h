/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of a topology, grouped into tiers and ordered, after the configuration's overrides. A plain value without
 * pointers, as the topology is. Pure.
 */
#ifndef HM_CORE_TIERS_TIERS_H
#define HM_CORE_TIERS_TIERS_H

#include "base/error.h"
#include "core/config/config.h"
#include "core/topology/topology.h"

struct hm_tier {
    char name[HM_NAME]; /* configuration's, else the kind's, else "fast"/"slow"/"tierN"; unique */
    enum hm_kind kind;
    enum hm_origin kind_origin;
    struct hm_set nodes;
    uint64_t capacity_bytes, free_bytes;
    struct hm_figure read_latency_ns;    /* of the nearest initiator: the least of its nodes */
    struct hm_figure read_bandwidth_mbs; /* the sum over its nodes; unknown where one of them is */
    struct hm_figure write_bandwidth_mbs;
    struct hm_energy_model energy;
};

struct hm_tiers {
    struct hm_topology topology;
    int n_tiers;
    struct hm_tier tier[HM_MAX_TIERS]; /* fastest first: tier[0] is fast, tier[n_tiers - 1] slow */
    enum hm_origin order_origin;       /* what decided the order */
    int n_warnings;
    char warning[HM_MAX_WARNINGS][HM_WARNING];
};

/*
 * Group the nodes that have memory and are allowed into tiers and order them: read bandwidth per node (best initiator),
 * then latency, then kinds, memory tiers in sysfs, having CPUs and distance, each where both tiers have it. `config`
 * may be NULL; its figures and kinds replace what was found, and tiers whose nodes it lists keep the order of the file
 * (fastest first) unless it gives a bandwidth for each of them. Offline and memoryless nodes are left out; so are nodes
 * hidden by a cpuset, with a warning. Returns 0, or -1 with EINVAL where the configuration names a node that is not
 * there or names one twice, ENODEV where no node has memory. `topology` may be `tiers->topology`. The result needs no
 * free; it is large (about 300 KiB): do not put it on the stack of a task.
 */
int hm_tiers_group(const struct hm_topology *topology, const struct hm_config *config, struct hm_tiers *tiers,
                   struct hm_error *error);

/* The tier a node is in (index), or -1. */
int hm_tiers_of_node(const struct hm_tiers *tiers, int node_id);

/* Is the pair these two tiers, by name or kind, in any order? */
bool hm_tiers_are_pair(const struct hm_config_channels *pair, const struct hm_tier *a, const struct hm_tier *b);

/* The channels kind for a fast and a slow tier: the configuration's, else shared for dram+pmem, separate for cxl and
 * hbm pairs, else shared. */
enum hm_channels hm_tiers_channels(const struct hm_config *config, const struct hm_tier *fast,
                                   const struct hm_tier *slow);

#endif
