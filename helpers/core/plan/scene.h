/* SPDX-License-Identifier: Apache-2.0 */
/* What the planner works with: the request's sockets, and what each tier has there. Private to plan/. */
#ifndef HM_CORE_PLAN_SCENE_H
#define HM_CORE_PLAN_SCENE_H

#include "plan.h"

#define HM_LIST_SHOWN 40 /* characters of a node or socket list in a sentence */

/* A tier's part in the request's sockets. */
struct hm_part {
    const struct hm_tier *tier;
    struct hm_set nodes;
    int n_nodes;
    uint64_t capacity_bytes;
    double bandwidth_mbs;                     /* read; 0: not known */
    bool is_movable;                          /* all nodes are ZONE_MOVABLE */
    char label[HM_NAME + HM_LIST_SHOWN + 10]; /* "pmem (nodes 2-3)" */
};

struct hm_scene {
    const struct hm_request *request;
    const struct hm_tiers *tiers;
    const struct hm_config *config;
    const struct hm_abilities *abilities;
    const struct hm_where *where;
    struct hm_plan *plan;
    struct hm_error *error;
    struct hm_migrate_keys keys; /* of a migrator's, complete; else nothing is said */
    struct hm_set sockets;       /* chosen: indices of topology.socket_cpus */
    bool all_sockets;            /* nothing with memory is left out */
    bool one_socket;             /* all memory of the choice is on one socket */
};

/* Choose the sockets. Returns 0, or -1 (ENODEV) where the set is empty. */
int hm_scene_choose(struct hm_scene *scene);

/* The part of tier `index` in the chosen sockets; it may have no nodes. */
void hm_scene_part(const struct hm_scene *scene, int index, struct hm_part *part);

/* The share of the pages that the fast part takes when it wants `wanted` of them: bounded by both capacities where the
 * size is known. */
double hm_scene_share(const struct hm_scene *scene, const struct hm_part *fast, const struct hm_part *slow,
                      double wanted);

/* Refuse: ENODEV and "--hybrid-mem=...: TEXT: this node has ...". */
int hm_scene_refuse(const struct hm_scene *scene, const char *format, ...) __attribute__((format(printf, 2, 3)));

void hm_scene_warn(const struct hm_scene *scene, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hm_scene_reason(const struct hm_scene *scene, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "node 3", "nodes 0-1" ("socket" likewise). Returns `out`. */
char *hm_scene_list(const char *noun, const struct hm_set *set, char *out, size_t size);

/*
 * The planners, one for each mode: fill in the plan, and the reason. Where the mode wants HM_WANTS_PLACEMENT the
 * sockets are chosen already, and there is a tier. Each returns 0, or -1 for a refusal.
 */
#define HM_MODE(id, word, planner, ...) int hm_plan_##planner(struct hm_scene *scene);
#include "core/request/modes.def"

#endif
