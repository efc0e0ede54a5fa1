/* SPDX-License-Identifier: Apache-2.0 */
/* The topology of a node, as it was found: NUMA nodes, sockets, and figures with their origins. A plain value without
 * pointers, which can be stored, copied and kept over fork. discover.h finds it; tiers/tiers.h makes tiers of it. */
#ifndef HM_CORE_TOPOLOGY_TOPOLOGY_H
#define HM_CORE_TOPOLOGY_TOPOLOGY_H

#include "base/error.h"
#include "base/set.h"

#define HM_MAX_NODES 128 /* nodes with memory or CPUs; the largest known machines show under 100 */
#define HM_MAX_SOCKETS 32
#define HM_MAX_TIERS 8
#define HM_NAME 24     /* longest name of a tier, with the end mark */
#define HM_WARNING 200 /* longest warning, with the end mark */
#define HM_MAX_WARNINGS 8

enum hm_kind { HM_KIND_UNKNOWN, HM_KIND_DRAM, HM_KIND_PMEM, HM_KIND_CXL, HM_KIND_HBM };

/* Where a figure comes from, best first. With HM_ORIGIN_NONE the figure is unknown. */
enum hm_origin {
    HM_ORIGIN_NONE,
    HM_ORIGIN_CONFIG,     /* hybridmem.conf */
    HM_ORIGIN_ATTRIBUTES, /* hwloc's memory attributes (HMAT) */
    HM_ORIGIN_SYSFS,      /* /sys/devices/virtual/memory_tiering */
    HM_ORIGIN_DISTANCE,   /* NUMA distance, or whether the node has CPUs */
    HM_ORIGIN_HWLOC,      /* told by hwloc: capacity, kind */
};

struct hm_figure {
    uint64_t value;
    enum hm_origin origin;
};

struct hm_node {
    int id;     /* the kernel's node number */
    int socket; /* nearest socket, an index into hm_topology.socket_cpus; -1: unknown */
    enum hm_kind kind;
    enum hm_origin kind_origin;
    int sysfs_tier;          /* the N of memory_tierN; -1: sysfs does not tell */
    bool has_cpus;           /* CPUs of its own */
    bool allowed;            /* the cpuset of the process allows it */
    bool is_device;          /* memory of a GPU or another device: in no tier unless the configuration names it */
    bool movable_only;       /* all its memory is ZONE_MOVABLE: kernel allocations cannot use it */
    uint64_t capacity_bytes; /* 0: memoryless */
    uint64_t free_bytes;
    uint64_t side_cache_bytes; /* size of the memory-side cache in front of it (Memory Mode); 0: none */
    struct hm_set cpus;        /* CPUs for which it is local */
    struct hm_figure read_latency_ns, write_latency_ns; /* from the CPUs nearest to it */
    struct hm_figure read_bandwidth_mbs,
        write_bandwidth_mbs; /* in MB/s = 10^6 bytes/s, of this node, from its best initiator */
};

struct hm_topology {
    int n_nodes;
    struct hm_node node[HM_MAX_NODES];            /* by ascending id */
    uint8_t distance[HM_MAX_NODES][HM_MAX_NODES]; /* by index, not id; as in ACPI's SLIT; 0: unknown */
    bool has_free; /* free_bytes is known: the topology was just read from this machine, not from XML or the cache */
    int n_sockets;
    struct hm_set socket_cpus[HM_MAX_SOCKETS];
    struct hm_set allowed_cpus;
};

/* Index of the node in the topology, or -1. */
int hm_topology_index(const struct hm_topology *topology, int node_id);
/* The socket of a device, by the NUMA node that the kernel names for it (-1: none). Returns -1 where it is unknown. On
 * a machine with one socket, a device whose node is not known is on that socket. */
int hm_topology_socket_of(const struct hm_topology *topology, int node_id);
/* Find the sockets that have at least one of the CPUs. */
void hm_topology_sockets_of_cpus(const struct hm_topology *topology, const struct hm_set *cpus, struct hm_set *sockets);

extern const char *const hm_kind_words[];                /* by enum hm_kind; NULL ends them */
const char *hm_kind_name(enum hm_kind kind);             /* "dram" ... "unknown" */
int hm_kind_parse(const char *word, enum hm_kind *kind); /* 0, or -1 (EINVAL) */
/* "hybridmem.conf", "hmat", "sysfs", "distance", "hwloc"; "unknown" for anything else. */
const char *hm_origin_name(enum hm_origin origin);

#endif
