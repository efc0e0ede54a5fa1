/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this node has. A topology is what was found (nodes, sockets, figures with their origin); tiers are the same
 * nodes grouped and ordered, after the configuration's overrides. Both are plain values without pointers: they may be
 * stored, copied and carried over fork. Grouping is pure; discovery lives in discover.h.
 */
#ifndef HM_CORE_TOPOLOGY_TOPOLOGY_H
#define HM_CORE_TOPOLOGY_TOPOLOGY_H

#include "base/error.h"
#include "base/set.h"

#define HM_MAX_NODES 128 /* nodes with memory or CPUs; the largest known machines show under 100 */
#define HM_MAX_SOCKETS 32
#define HM_MAX_TIERS 8
#define HM_NAME 24
#define HM_WARNING 200
#define HM_MAX_WARNINGS 8

enum hm_kind { HM_KIND_UNKNOWN, HM_KIND_DRAM, HM_KIND_PMEM, HM_KIND_CXL, HM_KIND_HBM };

/* Where a figure comes from, best first (design: order of origins). The figure is unknown where origin is
 * HM_ORIGIN_NONE. */
enum hm_origin {
    HM_ORIGIN_NONE,
    HM_ORIGIN_CONFIG,      /* hybridmem.conf */
    HM_ORIGIN_CALIBRATION, /* calibration file */
    HM_ORIGIN_ATTRIBUTES,  /* hwloc's memory attributes (HMAT) */
    HM_ORIGIN_SYSFS,       /* /sys/devices/virtual/memory_tiering */
    HM_ORIGIN_DISTANCE,    /* NUMA distance, or having CPUs */
    HM_ORIGIN_HWLOC,       /* counted by hwloc: capacity, kind */
};

struct hm_figure {
    uint64_t value;
    enum hm_origin origin;
};

struct hm_node {
    int id;     /* the kernel's node number */
    int socket; /* index into hm_topology.socket_cpus of the nearest socket, -1 where it cannot be told */
    enum hm_kind kind;
    enum hm_origin kind_origin;
    int sysfs_tier;          /* memory_tierN's N, -1 where sysfs does not say */
    bool has_cpus;           /* CPUs of its own */
    bool allowed;            /* the process (cpuset) may allocate from it */
    bool is_device;          /* memory of a GPU or another device: in no tier unless the configuration names it */
    bool movable_only;       /* all its memory is ZONE_MOVABLE: kernel allocations cannot use it */
    uint64_t capacity_bytes; /* 0: memoryless */
    uint64_t free_bytes;
    uint64_t side_cache_bytes;                          /* memory-side cache in front of it (Memory Mode), 0 for none */
    struct hm_set cpus;                                 /* CPUs for which it is local */
    struct hm_figure read_latency_ns, write_latency_ns; /* from its best initiator */
    struct hm_figure read_bandwidth_mbs,
        write_bandwidth_mbs; /* MB/s = 10^6 bytes/s, of this node, from its best initiator */
};

struct hm_topology {
    int n_nodes;
    struct hm_node node[HM_MAX_NODES];            /* by ascending id */
    uint8_t distance[HM_MAX_NODES][HM_MAX_NODES]; /* by index, not id; SLIT values, 0 where unknown */
    bool has_free; /* free_bytes is known: this machine, now (not from XML or the cache) */
    int n_sockets;
    struct hm_set socket_cpus[HM_MAX_SOCKETS];
    struct hm_set allowed_cpus;
};

/* What a tier's energy is reckoned with, as hybridmem.conf says; 0: not said. */
struct hm_energy_model {
    double static_w; /* of the whole tier, whoever uses it and however much */
    double read_pj_bit, write_pj_bit;
};

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

struct hm_config;

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
/* Index of the node in the topology, or -1. */
int hm_topology_index(const struct hm_topology *topology, int node_id);
/* The socket of a NUMA node that the kernel names as a device's (-1: none), or -1. Of one socket everything is. */
int hm_topology_socket_of(const struct hm_topology *topology, int node_id);
/* The sockets that have one of the CPUs. */
void hm_topology_sockets_of_cpus(const struct hm_topology *topology, const struct hm_set *cpus, struct hm_set *sockets);

const char *hm_kind_name(enum hm_kind kind);             /* "dram" ... "unknown" */
int hm_kind_parse(const char *word, enum hm_kind *kind); /* 0, or -1 (EINVAL) */
const char *hm_origin_name(
    enum hm_origin origin); /* "hybridmem.conf", "calibration", "hmat", "sysfs", "distance", "hwloc", "unknown" */

#endif
