/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What will be done on this node for this job: request + tiers + configuration + abilities -> plan. Pure.
 */
#ifndef HM_CORE_PLAN_PLAN_H
#define HM_CORE_PLAN_PLAN_H

#include "base/error.h"
#include "core/config/config.h"
#include "core/request/request.h"
#include "core/tiers/tiers.h"
#include "core/topology/regions.h"

enum hm_policy {
    HM_POLICY_DEFAULT,
    HM_POLICY_BIND,
    HM_POLICY_INTERLEAVE,
    HM_POLICY_WEIGHTED_INTERLEAVE,
    HM_POLICY_PREFERRED_MANY,
    HM_POLICY_BIND_BALANCING /* bind, and the kernel's hint faults reach the pages */
};

/* What this kernel can do and what this job may change. */
struct hm_abilities {
    bool preferred_many;           /* Linux 5.15 */
    bool weighted_interleave;      /* Linux 6.9 */
    bool bind_balancing;           /* Linux 5.12 */
    bool lacks_preload;            /* libhybridmem-preload.so is not installed: no isolate */
    bool lacks_marks;              /* the kernel marks no written pages (soft-dirty) */
    bool lacks_store_samples;      /* a user cannot sample the processor's stores (perf) */
    bool alone;                    /* the job has the node alone: system-wide weights may be changed */
    bool has_weights;              /* `weights` is what the system has now */
    uint8_t weights[HM_MAX_NODES]; /* by topology index */
    struct hm_dax_regions regions; /* of the mode fsdax (topology/regions.h) */
};

struct hm_where {
    struct hm_set cpus;  /* the task's CPUs: decides socket=local|remote */
    uint64_t size_bytes; /* how much the job will use; 0: not known */
};

/* What the migrator is to do. */
struct hm_plan_migration {
    bool is_wanted;
    struct hm_set fast_nodes, slow_nodes; /* what it moves between */
    uint64_t cap_bytes;                   /* most of the fast tier that the job keeps; 0: all that is free */
    double read_latency;                  /* of the slow tier, in units of the fast tier's; 0: not known */
    double write_latency;        /* the same; more where the slow tier's bandwidth says that writes cost more */
    struct hm_migrate_keys keys; /* the request's, then the site's, then ours; 0: the migrator's choice */
};

/* The file systems that are made for the job. */
struct hm_plan_fsdax {
    bool is_wanted, is_kept;
    struct hm_set sockets;
    uint64_t size_bytes; /* over all sockets, in even parts */
    uint64_t map_bytes;  /* what the kernel's map of their pages takes */
};

struct hm_plan {
    struct hm_request request;
    enum hm_policy policy;
    struct hm_set nodes;            /* the policy's node mask; empty for HM_POLICY_DEFAULT */
    bool has_weights;               /* weights belong to the plan */
    bool must_set_weights;          /* and differ from the system's: root sets them before the tasks start */
    uint8_t weights[HM_MAX_NODES];  /* 1-255 for nodes in the mask, 0 else; by topology index */
    uint64_t reserve_bytes;         /* fast memory to keep free for the kernel, 0 for none */
    double predicted_bandwidth_mbs; /* by the spill model; negative: not known */
    struct hm_plan_migration migration;
    struct hm_plan_fsdax fsdax;
    char reason[640]; /* one sentence a user can read */
    int n_warnings;
    char warning[HM_MAX_WARNINGS][HM_WARNING];
};

/*
 * Resolve. Returns 0, or -1: ENODEV where this node cannot serve the request (no such tier, empty socket set, hidden by
 * the cpuset, kernel too old and nothing next best), text names the word and what the node has. Form errors were the
 * parser's.
 */
int hm_plan_resolve(const struct hm_request *request, const struct hm_tiers *tiers, const struct hm_config *config,
                    const struct hm_abilities *abilities, const struct hm_where *where, struct hm_plan *plan,
                    struct hm_error *error);

/* "bind", "weighted-interleave", ...: the record's and JSON's words. */
const char *hm_policy_name(enum hm_policy policy);

/* Abilities of a kernel release ("6.12.3-foo"); weights and alone are left false. Returns 0, or -1 (EINVAL). */
int hm_abilities_of_kernel(const char *release, struct hm_abilities *abilities, struct hm_error *error);

#endif
