/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: what is done on this node for this job. It follows from the request, the tiers, the configuration, the
 * node's abilities, and the task's CPUs and the job's size. Pure. */
#ifndef HM_CORE_PLAN_PLAN_H
#define HM_CORE_PLAN_PLAN_H

#include "base/error.h"
#include "core/config/config.h"
#include "core/load/balance.h"
#include "core/request/request.h"
#include "core/tiers/tiers.h"
#include "core/topology/regions.h"

enum hm_policy {
    HM_POLICY_DEFAULT,
    HM_POLICY_BIND,
    HM_POLICY_INTERLEAVE,
    HM_POLICY_WEIGHTED_INTERLEAVE,
    HM_POLICY_PREFERRED_MANY,
    HM_POLICY_BIND_BALANCING /* bind, with the kernel's NUMA balancing (hint faults) */
};

/* What this node can do, and what this job may change. */
struct hm_abilities {
    bool preferred_many;           /* Linux 5.15 */
    bool weighted_interleave;      /* Linux 6.9 */
    bool bind_balancing;           /* Linux 5.12 */
    bool lacks_preload;            /* libhybridmem-preload.so is not installed: no isolate */
    bool lacks_marks;              /* the kernel does not mark written pages (soft-dirty) */
    bool lacks_store_samples;      /* a user cannot sample the processor's stores (perf) */
    bool alone;                    /* the job is alone on the node, so system-wide weights may be changed */
    bool has_weights;              /* `weights` holds the system's present weights */
    uint8_t weights[HM_MAX_NODES]; /* by topology index */
    bool weights_auto;             /* the kernel sets them, by the firmware's bandwidths (Linux 6.16) */
    uint64_t page_bytes;           /* size of the kernel's pages; 0: not known, 4 KiB are assumed */
    struct hm_dax_regions regions; /* for the mode fsdax (topology/regions.h) */
    bool has_load;                 /* `load` is what the file that hybridmem.conf names has; else nobody has read it */
    struct hm_load load;
};

struct hm_where {
    struct hm_set cpus;  /* the task's CPUs, for socket=local|remote and for distances */
    uint64_t size_bytes; /* how much memory the job will use; 0: unknown */
};

/* Where the curves of the tiers' latency by their traffic come from. */
enum hm_curves {
    HM_CURVES_NONE,
    HM_CURVES_FILE, /* the file that hybridmem.conf names (`load`) */
    HM_CURVES_TIERS /* the tiers' read latencies and bandwidths */
};

/* How much heat the migrator keeps in the fast tier where its bandwidth is used up. */
struct hm_plan_balance {
    enum hm_curves curves;
    struct hm_load_peaks peaks; /* of the whole tiers, with HM_CURVES_TIERS */
    char why[80];               /* why there are no curves; "" where there are */
    /*
     * The prediction for a program that uses up the bandwidth, and whose data is equally hot: the fast tier's share of
     * it with a balance, the read bandwidth then, and that with as much as fits in the fast tier. Negative: not known.
     */
    double share, bandwidth_mbs, hottest_mbs;
};

/* A tier between the fast and the slow one. */
struct hm_plan_middle {
    struct hm_set nodes;
    /* as those of the slow tier below; each 0 in all such tiers where it does not rise from the fast tier to the slow
     * one, that of writes also where that of reads does not */
    double read_latency, write_latency;
};

/* What the migrator does. */
struct hm_plan_migration {
    bool is_wanted;
    struct hm_set fast_nodes, slow_nodes; /* it moves pages between these, and the tiers between them */
    uint32_t n_middle;
    struct hm_plan_middle middle[HM_MAX_TIERS - 2]; /* fastest first; none with algorithm=bins */
    uint64_t cap_bytes;                             /* most fast memory that the job keeps; 0: all that is free */
    /* read latency of the slow tier, as a multiple of the fast tier's; 0: unknown, or not longer */
    double read_latency;
    /* the same for the write latency, or more where the slow tier's bandwidths make a write cost more */
    double write_latency;
    /* keys from the request, else the site, else built in; 0: the migrator chooses, or there is no limit */
    struct hm_migrate_keys keys;
    struct hm_plan_balance balance;
};

/* The file systems that are made for the job. */
struct hm_plan_fsdax {
    bool is_wanted, is_kept;
    struct hm_set sockets;
    uint64_t size_bytes; /* all sockets together, in equal parts */
    uint64_t map_bytes;  /* bytes that the kernel's map of the file systems' pages takes */
};

/* What a guided program's chosen sites get. */
struct hm_plan_guide {
    bool is_wanted;
    struct hm_set fast_nodes, slow_nodes;
    uint64_t fast_bytes; /* fast memory for the sites of a step on this node; all of the part by default */
    /* online: */
    double overhead_percent; /* of the CPUs' time */
    double read_latency;     /* of the slow tier, as a multiple of the fast one's; 0: not known */
};

struct hm_plan {
    struct hm_request request;
    enum hm_policy policy;
    struct hm_set nodes;            /* the policy's node mask; empty for HM_POLICY_DEFAULT */
    bool has_weights;               /* the plan has weights */
    bool must_set_weights;          /* these weights differ from the system's: root sets them before the tasks start */
    bool weights_auto;              /* the kernel sets the system's weights, where the job's are not set */
    uint8_t weights[HM_MAX_NODES];  /* by topology index; with has_weights 1 to 255 for nodes in the mask, else 0 */
    uint64_t side_cache_bytes;      /* for memory: the caches in front of all nodes together; 0 in other modes */
    uint64_t reserve_bytes;         /* fast memory to keep free for the kernel; 0: none */
    double predicted_bandwidth_mbs; /* read bandwidth, for fast and slow together by the spill model; < 0: unknown */
    struct hm_plan_migration migration;
    struct hm_plan_fsdax fsdax;
    struct hm_plan_guide guide;
    char reason[640]; /* one sentence for users */
    int n_warnings;
    char warning[HM_MAX_WARNINGS][HM_WARNING];
};

/*
 * Make the plan. Returns 0, or -1 (ENODEV) where this node cannot serve the request: it has no such tier or usable
 * region, it has no memory on the sockets, the cpuset hides the memory, the task's socket is not known for socket=local
 * or remote, no memory is behind a cache for the mode memory, the node lacks what isolate needs, the size does not fit
 * into the regions, or the site does not let users keep that much. The text names the request, and what is missing or
 * in the way. Errors of form were found by the parser.
 */
int hm_plan_resolve(const struct hm_request *request, const struct hm_tiers *tiers, const struct hm_config *config,
                    const struct hm_abilities *abilities, const struct hm_where *where, struct hm_plan *plan,
                    struct hm_error *error);

/* The words for where curves come from, by enum hm_curves; NULL past the last. */
extern const char *const hm_curves_words[];
/* The word in JSON: "file", "tiers" or "none". */
const char *hm_curves_name(enum hm_curves curves);

/* The word for a policy in records and JSON: "bind", "weighted-interleave" and so on. */
const char *hm_policy_name(enum hm_policy policy);

/*
 * Get the abilities of a kernel by its release ("6.12.3-foo"). Other abilities become false. Returns 0, or -1 (EINVAL).
 */
int hm_abilities_of_kernel(const char *release, struct hm_abilities *abilities, struct hm_error *error);

#endif
