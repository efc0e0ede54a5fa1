/* SPDX-License-Identifier: Apache-2.0 */
/* Tiers: the nodes of a topology, grouped by kind and figures and ordered by speed, with the configuration's overrides
 * applied. A plain value without pointers, like the topology. Pure. */
#ifndef HM_CORE_TIERS_TIERS_H
#define HM_CORE_TIERS_TIERS_H

#include "base/error.h"
#include "core/config/config.h"
#include "core/topology/topology.h"

struct hm_tier {
    char name[HM_NAME]; /* from the configuration, else the kind's name, else "fast", "slow" or "tierN"; unique */
    enum hm_kind kind;
    enum hm_origin kind_origin;
    struct hm_set nodes;
    uint64_t capacity_bytes, free_bytes;
    struct hm_figure read_latency_ns;    /* from the nearest CPUs; the least of its nodes */
    struct hm_figure read_bandwidth_mbs; /* the sum of its nodes; unknown where one is unknown */
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
 * Make tiers of the nodes that have memory and are allowed, and order the tiers. The order is by read bandwidth per
 * node (from the best initiator), then latency, kind, memory tier in sysfs, CPUs, and distance; each criterion counts
 * only where it is known for both tiers. `config` may be NULL. Its figures and kinds replace those that were found.
 * Tiers whose nodes it lists keep the order of the file (fastest first), unless it gives a read bandwidth for each of
 * them. Left out are offline and memoryless nodes, and those of GPUs (and other devices) that `config` does not list.
 * Also left out, with a warning, are nodes that the cpuset hides, and those that would need more than HM_MAX_TIERS
 * tiers. Returns 0, or -1: EINVAL where the configuration names a node that does not exist, names one twice, or gives
 * two tiers the same name; ENODEV where no node is left for a tier. `topology` may be `tiers->topology`. The result
 * needs no free. It is large (about 200 KiB): do not put it on the stack of a task.
 */
int hm_tiers_group(const struct hm_topology *topology, const struct hm_config *config, struct hm_tiers *tiers,
                   struct hm_error *error);

/* The index of the tier that a node is in, or -1. */
int hm_tiers_of_node(const struct hm_tiers *tiers, int node_id);

/* Does `pair` name these two tiers, by name or kind, in any order? */
bool hm_tiers_are_pair(const struct hm_config_channels *pair, const struct hm_tier *a, const struct hm_tier *b);

/* Do a fast and a slow tier share memory channels? As the configuration says; else separate where one of them is CXL or
 * HBM, and shared otherwise. */
enum hm_channels hm_tiers_channels(const struct hm_config *config, const struct hm_tier *fast,
                                   const struct hm_tier *slow);

#endif
