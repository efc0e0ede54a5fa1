/* SPDX-License-Identifier: Apache-2.0 */
#include "machines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "unit/lib/rows.h"

#define GIB (UINT64_C(1) << 30)
#define MOST 8

/* A node of a machine. Its tier: 0 is the fast one, -1 means hidden or without memory. `home`: it has the CPUs of its
 * socket. */
struct shape_node {
    int tier, socket;
    bool home;
    uint64_t gib, bandwidth_mbs; /* a bandwidth of 0: unknown */
};

struct shape {
    const char *name;
    enum hm_kind kind[3]; /* kinds of the tiers */
    const char *tier[3];  /* NULL: end of the list */
    struct shape_node node[MOST];
    int n_nodes;
    /* distance from a socket's home node to its memory-only nodes; 11 more to those of the other socket */
    int near_slow;
    bool movable; /* the slow tier is movable */
};

static const struct shape shapes[] = {
    {"optane",
     {HM_KIND_DRAM, HM_KIND_PMEM},
     {"dram", "pmem"},
     {{0, 0, true, 84, 102000}, {0, 1, true, 84, 102000}, {1, 0, false, 768, 39000}, {1, 1, false, 768, 39000}},
     4,
     17,
     false},
    {"kmem",
     {HM_KIND_DRAM, HM_KIND_PMEM},
     {"dram", "pmem"},
     {{0, 0, true, 100, 0}, {0, 1, true, 100, 0}, {1, 0, false, 768, 0}, {1, 1, false, 768, 0}},
     4,
     17,
     true},
    {"cxl",
     {HM_KIND_DRAM, HM_KIND_CXL},
     {"dram", "cxl"},
     {{0, 0, true, 128, 150000}, {0, 1, true, 128, 150000}, {1, 0, false, 256, 100000}},
     3,
     17,
     false},
    {"cxl-unknown",
     {HM_KIND_DRAM, HM_KIND_CXL},
     {"dram", "cxl"},
     {{0, 0, true, 128, 150000}, {0, 1, true, 128, 150000}, {1, 0, false, 256, 0}},
     3,
     17,
     false},
    {"hbm",
     {HM_KIND_HBM, HM_KIND_DRAM},
     {"hbm", "dram"},
     {{1, 0, true, 256, 200000}, {1, 1, true, 256, 200000}, {0, 0, false, 64, 600000}, {0, 1, false, 64, 600000}},
     4,
     13,
     false},
    {"even",
     {HM_KIND_DRAM, HM_KIND_CXL},
     {"dram", "cxl"},
     {{0, 0, true, 128, 100000}, {1, 0, false, 128, 100000}},
     2,
     17,
     false},
    {"three",
     {HM_KIND_HBM, HM_KIND_DRAM, HM_KIND_PMEM},
     {"hbm", "dram", "pmem"},
     {{1, 0, true, 64, 0},
      {1, 1, true, 64, 0},
      {0, 0, false, 16, 0},
      {0, 1, false, 16, 0},
      {2, 0, false, 256, 0},
      {2, 1, false, 256, 0}},
     6,
     17,
     false},
    {"one", {HM_KIND_DRAM}, {"dram"}, {{0, 0, true, 64, 100000}, {0, 1, true, 64, 100000}}, 2, 17, false},
    {"unknown",
     {HM_KIND_UNKNOWN, HM_KIND_UNKNOWN},
     {"fast", "slow"},
     {{0, 0, true, 64, 0}, {0, 1, true, 64, 0}, {1, 0, false, 256, 0}, {1, 1, false, 256, 0}},
     4,
     17,
     false},
    {"memoryless",
     {HM_KIND_DRAM, HM_KIND_CXL},
     {"dram", "cxl"},
     {{0, 0, true, 64, 0}, {-1, 1, true, 0, 0}, {1, 0, false, 256, 0}},
     3,
     17,
     false},
    {"hidden",
     {HM_KIND_DRAM},
     {"dram"},
     {{0, 0, true, 64, 0}, {0, 1, true, 64, 0}, {-1, 0, false, 256, 0}},
     3,
     17,
     false},
    {"equal",
     {HM_KIND_DRAM, HM_KIND_PMEM},
     {"dram", "pmem"},
     {{0, 0, true, 64, 0}, {1, 0, false, 256, 0}},
     2,
     10,
     false},
};

static void fill_node(struct hm_topology *topology, int i, const struct shape_node *row, bool is_movable)
{
    struct hm_node *node = &topology->node[i];
    *node = (struct hm_node){.id = i,
                             .socket = row->socket,
                             .sysfs_tier = -1,
                             .has_cpus = row->home,
                             .allowed = row->tier >= 0 || row->gib == 0,
                             .movable_only = is_movable,
                             .capacity_bytes = row->gib * GIB};
    if (row->bandwidth_mbs)
        node->read_bandwidth_mbs = (struct hm_figure){row->bandwidth_mbs, HM_ORIGIN_ATTRIBUTES};
    if (row->home)
        node->cpus = topology->socket_cpus[row->socket];
}

void machine_make(const char *name, struct hm_tiers *tiers)
{
    const struct shape *shape = NULL;
    for (size_t i = 0; i < N_ROWS(shapes); i++)
        if (strcmp(shapes[i].name, name) == 0)
            shape = &shapes[i];
    assert_non_null(shape);
    memset(tiers, 0, sizeof(*tiers));
    struct hm_topology *topology = &tiers->topology;
    topology->n_nodes = shape->n_nodes;
    for (int i = 0; i < shape->n_nodes; i++)
        topology->n_sockets =
            shape->node[i].socket >= topology->n_sockets ? shape->node[i].socket + 1 : topology->n_sockets;
    assert_int_equal(hm_set_parse(&topology->socket_cpus[0], "0-3", NULL), 0);
    assert_int_equal(hm_set_parse(&topology->socket_cpus[1], topology->n_sockets > 1 ? "4-7" : "", NULL), 0);
    for (; tiers->n_tiers < 3 && shape->tier[tiers->n_tiers]; tiers->n_tiers++) {
        tiers->tier[tiers->n_tiers].kind = shape->kind[tiers->n_tiers];
        snprintf(tiers->tier[tiers->n_tiers].name, HM_NAME, "%s", shape->tier[tiers->n_tiers]);
    }
    for (int i = 0; i < shape->n_nodes; i++) {
        const struct shape_node *row = &shape->node[i];
        fill_node(topology, i, row, shape->movable && row->tier == 1);
        if (row->tier >= 0) {
            hm_set_add(&tiers->tier[row->tier].nodes, (unsigned)i);
            tiers->tier[row->tier].capacity_bytes += row->gib * GIB;
            tiers->tier[row->tier].read_bandwidth_mbs.value += row->bandwidth_mbs;
            tiers->tier[row->tier].read_bandwidth_mbs.origin = topology->node[i].read_bandwidth_mbs.origin;
        }
        for (int j = 0; j < shape->n_nodes; j++) {
            int here = shape->node[j].home ? 10 : shape->near_slow;
            topology->distance[i][j] =
                (uint8_t)(row->socket == shape->node[j].socket ? (i == j ? 10 : here) : here + 11);
        }
    }
}
