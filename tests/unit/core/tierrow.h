/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for the tests of tiers. A row has a machine's nodes, the tiers that hybridmem.conf names, and what is expected
 * of both: tiers, or an error. */
#ifndef TIERROW_H
#define TIERROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "core/tiers/tiers.h"

#define TIERROW_NODES 8
#define TIERROW_TIERS 3

struct tierrow_node {
    bool is_there;
    bool has_cpus;
    uint64_t gib, bandwidth, latency; /* bandwidth in MB/s and latency in ns; 0: unknown */
    enum hm_kind kind;
    int sysfs_tier; /* 0: unknown */
    int distance;   /* from CPUs; 0: unknown */
    bool is_hidden, is_device;
    uint64_t cache_gib;
};

struct tierrow_tier {
    const char *name;  /* NULL: end of the list */
    const char *nodes; /* NULL: the tier lists no nodes */
    enum hm_kind kind;
    uint64_t latency, bandwidth;
};

/* A node with CPUs (CPU), a section of hybridmem.conf (TIER), a node without CPUs (MEM). */
#define CPU(...)                                                                                                       \
    {                                                                                                                  \
        .is_there = true, .has_cpus = true, __VA_ARGS__                                                                \
    }
#define TIER(its_name, its_nodes, ...)                                                                                 \
    {                                                                                                                  \
        .name = its_name, .nodes = its_nodes, __VA_ARGS__                                                              \
    }
#define MEM(...)                                                                                                       \
    {                                                                                                                  \
        .is_there = true, __VA_ARGS__                                                                                  \
    }

/* Nodes and tiers of which no tiers can be made. */
struct tierrow_bad {
    const char *what;
    struct tierrow_node nodes[TIERROW_NODES];
    struct tierrow_tier tiers[TIERROW_TIERS];
    int number;        /* errno of the error */
    const char *words; /* a part of the error */
};

struct tierrow {
    const char *what;
    struct tierrow_node nodes[TIERROW_NODES];
    struct tierrow_tier tiers[TIERROW_TIERS];
    const char *found; /* "NAME=KIND:NODES/LATENCY/BANDWIDTH" of each tier; 0: unknown */
    enum hm_origin order;
    const char *warning; /* a part of the only warning; NULL: none */
};

/* Make the topology of these nodes, all on one socket. The caller frees it. */
struct hm_topology *tierrow_topology(const struct tierrow_node nodes[TIERROW_NODES]);
/* Make a configuration with these tiers. The caller frees it. */
struct hm_config *tierrow_config(const struct tierrow_tier tiers[TIERROW_TIERS]);
/* Check that each row is refused, with its error. `tiers` is room for the result. */
void tierrow_refuses(const struct tierrow_bad *rows, size_t n, struct hm_tiers *tiers);
/* Check the tiers of each row. `tiers` is room for the result. */
void tierrow_groups(const struct tierrow *rows, size_t n, struct hm_tiers *tiers);

/* Set-up and teardown of a group of tests, whose state is a struct hm_tiers. */
int tierrow_setup(void **state);
int tierrow_teardown(void **state);

#endif
