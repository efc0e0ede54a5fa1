/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of hm_tiers_group, each pure; for this folder only.
 */
#ifndef HM_CORE_TIERS_PARTS_H
#define HM_CORE_TIERS_PARTS_H

#include "tiers.h"

struct hm_tier_group {
    struct hm_tier tier;
    const struct hm_config_tier *config; /* that names it or overrides its figures, or NULL */
    bool is_listed;                      /* the configuration lists its nodes */
    bool has_cpus;                       /* one of its nodes has */
    int sysfs_tier;                      /* least memory_tierN of its nodes, -1 unknown */
    int distance;                        /* least distance of its nodes to a node with CPUs, 0 unknown */
};

struct hm_tier_groups {
    int n;
    struct hm_tier_group group[HM_MAX_TIERS];
};

/* Append a warning (printf style); those past HM_MAX_WARNINGS are dropped. */
void hm_tiers_warn(struct hm_tiers *tiers, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* May the node be in a tier that the configuration does not list? */
bool hm_node_is_usable(const struct hm_node *node);

/* Give each node without a kind the one that follows from the others: see the comments in the code. */
void hm_tiers_infer_kinds(struct hm_topology *topology);

/* Group the usable nodes that are in no group yet. */
void hm_tiers_group_found(struct hm_tiers *tiers, struct hm_tier_groups *groups);

/* Sums and extremes of a group's nodes, with the weakest origin among them. */
void hm_tiers_sum(const struct hm_topology *topology, struct hm_tier_group *group);

/* The less reliable of two origins. */
enum hm_origin hm_origin_weaker(enum hm_origin a, enum hm_origin b);
/* The least distance to the node (an index) from a node with CPUs, memoryless ones included; 0 unknown. */
int hm_tiers_distance(const struct hm_topology *topology, int index);
bool hm_tiers_node_is_faster(const struct hm_topology *topology, int index, int than);
/* Fastest first. Returns what decided: the weakest reason between neighbours. */
enum hm_origin hm_tiers_order(struct hm_tier_groups *groups);

/* The configuration's lists of nodes become groups, their kinds those of the nodes. Returns 0, or -1 (EINVAL). */
int hm_tiers_config_nodes(struct hm_tiers *tiers, const struct hm_config *config, struct hm_tier_groups *groups,
                          struct hm_error *error);
/* Tiers of the configuration without nodes: find the group of their kind. */
void hm_tiers_config_kinds(const struct hm_config *config, struct hm_tier_groups *groups);
/* The same by name, when groups are ordered and named; warns of those that match nothing. */
void hm_tiers_config_names(struct hm_tiers *tiers, const struct hm_config *config, struct hm_tier_groups *groups);
/* Warns of channels whose pair of tiers is not there. */
void hm_tiers_config_channels(struct hm_tiers *tiers, const struct hm_config *config,
                              const struct hm_tier_groups *groups);
/* Put the configuration's figures over the group's. */
void hm_tiers_config_figures(struct hm_tier_group *group);

#endif
