/* SPDX-License-Identifier: Apache-2.0 */
/* What the planners work with: the request's sockets, and what each tier has there. Private to core/plan. */
#ifndef HM_CORE_PLAN_SCENE_H
#define HM_CORE_PLAN_SCENE_H

#include "plan.h"

#define HM_LIST_SHOWN 40 /* characters of a node or socket list in a sentence */

/* The part of a tier that is on the request's sockets. */
struct hm_part {
    const struct hm_tier *tier;
    struct hm_set nodes;
    int n_nodes;
    uint64_t capacity_bytes;
    double bandwidth_mbs;                     /* read bandwidth; 0: unknown */
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
    struct hm_migrate_keys keys; /* complete keys of the migrator; empty in modes without one */
    struct hm_set sockets;       /* the chosen sockets: indices of topology.socket_cpus */
    bool all_sockets;            /* all sockets with memory are chosen */
    bool one_socket;             /* at most one socket is chosen */
};

/* Choose the request's sockets. Returns 0, or, for socket=local and remote, -1 (ENODEV) where none of them has memory,
 * or where the task's socket is not known. */
int hm_scene_choose(struct hm_scene *scene);

/* Get the part of tier `index` that is on the chosen sockets; it may have no nodes. Nodes whose socket is unknown
 * belong to it with socket=all only. */
void hm_scene_part(const struct hm_scene *scene, int index, struct hm_part *part);

/* The share of pages that the fast part can take if it wants the share `wanted`: limited by both parts' capacities
 * where the job's size is known. */
double hm_scene_share(const struct hm_scene *scene, const struct hm_part *fast, const struct hm_part *slow,
                      double wanted);

/* Plan the balance of the tiers under load, once the migrator's keys and cap are planned. */
void hm_plan_balance(struct hm_scene *scene, const struct hm_part *fast, const struct hm_part *slow);

/* How many times longer a read of the slow part takes; 0: it is not longer, or not known. */
double hm_plan_read_latency(const struct hm_part *fast, const struct hm_part *slow);
/* The most of the fast tier that the keys allow; 0: they do not say. Warns where it is more than the tier has. */
uint64_t hm_plan_cap(struct hm_scene *scene, const struct hm_part *fast);

/* Plan the migrator's work, after memory is placed. Says in the plan's reason what it does. */
void hm_plan_migrator(struct hm_scene *scene, const struct hm_part *fast, const struct hm_part *slow,
                      uint64_t cap_bytes);

/* Fill in keys of the migrator that the request does not give: from the site, then the built-in ones. For hot-by, the
 * mode's own choice comes before the site's; `own` is HM_HOT_BY_UNSAID where the mode has none. */
void hm_plan_complete_keys(struct hm_scene *scene, enum hm_hot_by own);

/* Refuse the request: ENODEV with "--hybrid-mem=...: TEXT: this node has ...". Returns -1. */
int hm_scene_refuse(const struct hm_scene *scene, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Add a warning to the plan (printf style). Warnings past HM_MAX_WARNINGS are dropped. */
void hm_scene_warn(const struct hm_scene *scene, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Set the plan's reason, the sentence for users (printf style). */
void hm_scene_reason(const struct hm_scene *scene, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Write "node 3" or "nodes 0-1"; `noun` may also be "socket". Returns `out`. */
char *hm_scene_list(const char *noun, const struct hm_set *set, char *out, size_t size);

/* The planners of the modes; dram, pmem, cxl and hbm share one. Each fills in the plan and the reason. For modes with
 * HM_WANTS_PLACEMENT the sockets are already chosen, and there is at least one tier. Returns 0, or -1 where the request
 * is refused. */
#define HM_MODE(id, word, planner, ...) int hm_plan_##planner(struct hm_scene *scene);
#include "core/request/modes.def"

#endif
