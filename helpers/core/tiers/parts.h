/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of hm_tiers_group. All are pure. For this folder only. */
#ifndef HM_CORE_TIERS_PARTS_H
#define HM_CORE_TIERS_PARTS_H

#include "tiers.h"

struct hm_tier_group {
    struct hm_tier tier;
    const struct hm_config_tier *config; /* the configuration's tier that lists or overrides this group, or NULL */
    bool is_listed;                      /* the configuration lists its nodes */
    bool has_cpus;                       /* at least one of its nodes has CPUs */
    int sysfs_tier;                      /* lowest memory_tierN of its nodes; -1: unknown */
    int distance;                        /* least distance of its nodes from a node with CPUs; 0: unknown */
    enum hm_origin before_next;          /* what decided that it comes before the next group; of the last: no meaning */
};

struct hm_tier_groups {
    int n;
    struct hm_tier_group group[HM_MAX_TIERS];
};

/* Add a warning (printf style). Warnings past HM_MAX_WARNINGS are dropped. */
void hm_tiers_warn(struct hm_tiers *tiers, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* May the node be in a tier that the configuration does not list? */
bool hm_node_is_usable(const struct hm_node *node);

/* Infer the kind of nodes whose kind hwloc does not know. */
void hm_tiers_infer_kinds(struct hm_topology *topology);

/* Group the usable nodes that are in no group yet. */
void hm_tiers_group_found(struct hm_tiers *tiers, struct hm_tier_groups *groups);

/* Compute the group's figures from those of its nodes. A sum of bandwidths has the least reliable of their origins; the
 * least latency keeps its own. */
void hm_tiers_sum(const struct hm_topology *topology, struct hm_tier_group *group);

/* The less reliable of two origins; HM_ORIGIN_NONE gives way to any other. */
enum hm_origin hm_origin_weaker(enum hm_origin a, enum hm_origin b);
/* The least distance from any node with CPUs, which may have no memory, to the node with this index; 0: unknown. */
int hm_tiers_distance(const struct hm_topology *topology, int index);
/* Is the node `index` known to be faster than the node `than`, another index? */
bool hm_tiers_node_is_faster(const struct hm_topology *topology, int index, int than);
/* Sort the groups, fastest first. Sets each group's `before_next` to the origin of the criterion that puts it before
 * the next group: HM_ORIGIN_CONFIG if that is the order of the tiers in hybridmem.conf. Returns the least reliable of
 * these origins; HM_ORIGIN_NONE if nothing tells which of some two neighbours is faster; HM_ORIGIN_HWLOC for a single
 * group. */
enum hm_origin hm_tiers_order(struct hm_tier_groups *groups);

/* Make a group for each tier of the configuration that lists nodes, and give these nodes the tier's kind. A tier gets
 * no group if none of its nodes can be used. Returns 0, or -1 (EINVAL). */
int hm_tiers_config_nodes(struct hm_tiers *tiers, const struct hm_config *config, struct hm_tier_groups *groups,
                          struct hm_error *error);
/* Match tiers of the configuration that list no nodes to groups by kind: such a tier belongs to the group of its kind,
 * if exactly one group of that kind has no tier of the configuration yet. Then give all groups the figures of their
 * tiers of the configuration, also of those that list nodes. */
void hm_tiers_config_kinds(const struct hm_config *config, struct hm_tier_groups *groups);
/* Do the same by name, for tiers that list no nodes and matched no group by kind. Groups must be ordered and named by
 * then. Warns of tiers that match no group by name, either. */
void hm_tiers_config_names(struct hm_tiers *tiers, const struct hm_config *config, struct hm_tier_groups *groups);
/* Warn of channels of the configuration that name tiers which are not there. */
void hm_tiers_config_channels(struct hm_tiers *tiers, const struct hm_config *config,
                              const struct hm_tier_groups *groups);
/* Replace figures of the group by those of its configuration. */
void hm_tiers_config_figures(struct hm_tier_group *group);

#endif
