/* SPDX-License-Identifier: Apache-2.0 */
/* Tests grouping and ordering, and the configuration's overrides, on topologies made here. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/config/config.h"
#include "core/tiers/tiers.h"

#define MAX_ROW_NODES 8
#define MAX_ROW_TIERS 3

struct row_node {
    bool is_there;
    bool has_cpus;
    uint64_t gib, bandwidth, latency; /* bandwidth in MB/s and latency in ns; 0: unknown */
    enum hm_kind kind;
    int sysfs_tier; /* 0: unknown */
    int distance;   /* from CPUs; 0: unknown */
    bool is_hidden, is_device;
    uint64_t cache_gib;
};

struct row_tier {
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

static struct hm_topology *make_topology(const struct row_node nodes[MAX_ROW_NODES])
{
    struct hm_topology *topology = calloc(1, sizeof(*topology));

    assert_non_null(topology);
    topology->n_sockets = 1;
    for (int i = 0; i < MAX_ROW_NODES && nodes[i].is_there; i++) {
        const struct row_node *row = &nodes[i];
        struct hm_node *node = &topology->node[topology->n_nodes++];
        *node = (struct hm_node){.id = i,
                                 .kind = row->kind,
                                 .kind_origin = row->kind ? HM_ORIGIN_HWLOC : HM_ORIGIN_NONE,
                                 .sysfs_tier = row->sysfs_tier ? row->sysfs_tier : -1,
                                 .has_cpus = row->has_cpus,
                                 .allowed = !row->is_hidden,
                                 .is_device = row->is_device,
                                 .capacity_bytes = row->gib << 30,
                                 .side_cache_bytes = row->cache_gib << 30};
        if (row->bandwidth)
            node->read_bandwidth_mbs = (struct hm_figure){row->bandwidth, HM_ORIGIN_ATTRIBUTES};
        if (row->latency)
            node->read_latency_ns = (struct hm_figure){row->latency, HM_ORIGIN_ATTRIBUTES};
        topology->distance[0][i] = (uint8_t)(i == 0 ? 10 : row->distance);
    }
    return topology;
}

static struct hm_config *make_config(const struct row_tier tiers[MAX_ROW_TIERS])
{
    struct hm_config *config = calloc(1, sizeof(*config));

    assert_non_null(config);
    for (int i = 0; i < MAX_ROW_TIERS && tiers[i].name; i++) {
        struct hm_config_tier *tier = &config->tier[config->n_tiers++];
        snprintf(tier->name, sizeof(tier->name), "%s", tiers[i].name);
        tier->has_nodes = tiers[i].nodes != NULL;
        if (tier->has_nodes)
            assert_int_equal(hm_set_parse(&tier->nodes, tiers[i].nodes, NULL), 0);
        tier->kind = tiers[i].kind;
        tier->read_latency_ns = tiers[i].latency;
        tier->read_bandwidth_mbs = tiers[i].bandwidth;
    }
    return config;
}

/* Write "NAME=KIND:NODES/LATENCY/BANDWIDTH" for each tier; 0: unknown. */
static void describe(const struct hm_tiers *tiers, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (int i = 0; i < tiers->n_tiers && length < size; i++) {
        const struct hm_tier *tier = &tiers->tier[i];
        char nodes[64];
        length += (size_t)snprintf(text + length, size - length, "%s%s=%s:%s/%llu/%llu", i ? " " : "", tier->name,
                                   hm_kind_name(tier->kind), hm_set_format(&tier->nodes, nodes, sizeof(nodes)),
                                   (unsigned long long)tier->read_latency_ns.value,
                                   (unsigned long long)tier->read_bandwidth_mbs.value);
    }
}

/* clang-format off */
static const struct {
    const char *what;
    struct row_node nodes[MAX_ROW_NODES];
    struct row_tier tiers[MAX_ROW_TIERS];
    int number; /* errno of the error */
    const char *words;
} bad_rows[] = {
    {"no node", {{0}}, {{0}}, ENODEV, "no NUMA node with memory"},
    {"no memory", {CPU(.gib = 0)}, {{0}}, ENODEV, "no NUMA node with memory"},
    {"hidden", {CPU(.gib = 1, .is_hidden = true)}, {{0}}, ENODEV, "hides nodes 0"},
    {"only a GPU's", {CPU(.gib = 0), MEM(.gib = 80, .is_device = true)}, {{0}}, ENODEV, "no NUMA node with memory"},
    {"node that is not there",
     {CPU(.gib = 1)},
     {TIER("slow", "7")}, EINVAL, "tier slow names node 7, which is not there"},
    {"node that is not there: the hint",
     {CPU(.gib = 1), MEM(.gib = 1)},
     {TIER("slow", "2")}, EINVAL, "this machine has nodes 0-1"},
    {"node named twice",
     {CPU(.gib = 1)},
     {TIER("a", "0"), TIER("b", "0")}, EINVAL, "tier b names node 0, which another tier has"},
    {"tier named twice", {CPU(.gib = 1)}, {TIER("a", "0"), TIER("a", NULL)}, EINVAL, "tier a is there twice"},
};
/* clang-format on */

static void refuses(void **state)
{
    struct hm_tiers *tiers = *state;

    for (size_t i = 0; i < sizeof(bad_rows) / sizeof(bad_rows[0]); i++) {
        struct hm_topology *topology = make_topology(bad_rows[i].nodes);
        struct hm_config *config = make_config(bad_rows[i].tiers);
        struct hm_error error = {""};
        errno = 0;
        int result = hm_tiers_group(topology, config, tiers, &error);
        if (result != -1 || errno != bad_rows[i].number || !strstr(error.text, bad_rows[i].words))
            fail_msg("%s: %d, errno %d, \"%s\"", bad_rows[i].what, result, errno, error.text);
        free(config);
        free(topology);
    }
}

/* clang-format off */
static const struct {
    const char *what;
    struct row_node nodes[MAX_ROW_NODES];
    struct row_tier tiers[MAX_ROW_TIERS];
    const char *found;
    enum hm_origin order;
    const char *warning; /* part of the only warning; NULL: none */
} rows[] = {
    /* grouping */
    {"figures of one tier differ a little",
     {CPU(.gib = 1, .bandwidth = 1000, .latency = 90), CPU(.gib = 1, .bandwidth = 960, .latency = 95)},
     {{0}}, "fast=unknown:0-1/90/1960", HM_ORIGIN_HWLOC, NULL},
    {"memory-only nodes of unlike latency are two tiers",
     {CPU(.gib = 1, .bandwidth = 1000, .latency = 90), MEM(.gib = 1, .bandwidth = 400, .latency = 200),
      MEM(.gib = 1, .bandwidth = 390, .latency = 290)},
     {{0}}, "fast=unknown:0/90/1000 tier2=unknown:1/200/400 slow=unknown:2/290/390", HM_ORIGIN_ATTRIBUTES, NULL},
    {"a node whose CPUs are offline is still of its tier",
     {CPU(.gib = 1, .bandwidth = 1000, .latency = 90), MEM(.gib = 1, .bandwidth = 990, .latency = 91)},
     {{0}}, "fast=unknown:0-1/90/1990", HM_ORIGIN_HWLOC, NULL},
    {"same kind, far apart: an expander behind a switch",
     {CPU(.gib = 1, .bandwidth = 1000, .latency = 90),
      MEM(.gib = 1, .bandwidth = 400, .latency = 200, .kind = HM_KIND_CXL),
      MEM(.gib = 1, .bandwidth = 390, .latency = 600, .kind = HM_KIND_CXL)},
     {{0}}, "dram=dram:0/90/1000 cxl=cxl:1/200/400 cxl2=cxl:2/600/390", HM_ORIGIN_ATTRIBUTES, NULL},
    {"same kind, one without figures",
     {CPU(.gib = 1, .bandwidth = 1000), MEM(.gib = 1, .bandwidth = 400, .kind = HM_KIND_PMEM),
      MEM(.gib = 1, .kind = HM_KIND_PMEM)},
     {{0}}, "dram=dram:0/0/1000 pmem=pmem:1-2/0/0", HM_ORIGIN_HWLOC, NULL},
    {"a device's memory is no tier",
     {CPU(.gib = 1, .bandwidth = 1000), MEM(.gib = 1, .bandwidth = 9000, .is_device = true)},
     {{0}}, "fast=unknown:0/0/1000", HM_ORIGIN_HWLOC, NULL},
    {"behind a side cache the kind stays open",
     {CPU(.gib = 8, .cache_gib = 1), MEM(.gib = 8, .kind = HM_KIND_CXL)},
     {{0}}, "fast=unknown:0/0/0 cxl=cxl:1/0/0", HM_ORIGIN_DISTANCE, NULL},
    /* inferred kinds */
    {"twice the bandwidth without CPUs is HBM",
     {CPU(.gib = 4, .bandwidth = 1000, .latency = 90), MEM(.gib = 1, .bandwidth = 2500, .latency = 120)},
     {{0}}, "hbm=hbm:1/120/2500 dram=dram:0/90/1000", HM_ORIGIN_ATTRIBUTES, NULL},
    {"a little more bandwidth without CPUs is not HBM",
     {CPU(.gib = 4, .bandwidth = 1000, .latency = 90), MEM(.gib = 1, .bandwidth = 1500, .latency = 120)},
     {{0}}, "fast=unknown:1/120/1500 slow=unknown:0/90/1000", HM_ORIGIN_ATTRIBUTES, NULL},
    /* order */
    {"bandwidth per node, not of the tier",
     {CPU(.gib = 1, .bandwidth = 500), MEM(.gib = 1, .bandwidth = 200), MEM(.gib = 1, .bandwidth = 200),
      MEM(.gib = 1, .bandwidth = 200)},
     {{0}}, "fast=unknown:0/0/500 slow=unknown:1-3/0/600", HM_ORIGIN_ATTRIBUTES, NULL},
    {"latency where bandwidth is not known of both",
     {CPU(.gib = 1, .latency = 90), MEM(.gib = 1, .latency = 200, .bandwidth = 900)},
     {{0}}, "fast=unknown:0/90/0 slow=unknown:1/200/900", HM_ORIGIN_ATTRIBUTES, NULL},
    {"kinds where there are no figures",
     {CPU(.gib = 4, .kind = HM_KIND_DRAM), MEM(.gib = 1, .kind = HM_KIND_HBM), MEM(.gib = 9, .kind = HM_KIND_PMEM),
      MEM(.gib = 9, .kind = HM_KIND_CXL)},
     {{0}}, "hbm=hbm:1/0/0 dram=dram:0/0/0 cxl=cxl:3/0/0 pmem=pmem:2/0/0", HM_ORIGIN_HWLOC, NULL},
    {"sysfs tiers before distance",
     {CPU(.gib = 1, .sysfs_tier = 4), MEM(.gib = 1, .sysfs_tier = 22, .distance = 17),
      MEM(.gib = 1, .sysfs_tier = 9, .distance = 17)},
     {{0}}, "fast=unknown:0/0/0 tier2=unknown:2/0/0 slow=unknown:1/0/0", HM_ORIGIN_SYSFS, NULL},
    {"a sysfs tier can be faster than that of the CPUs",
     {CPU(.gib = 1, .sysfs_tier = 4), MEM(.gib = 1, .sysfs_tier = 2)},
     {{0}}, "fast=unknown:1/0/0 slow=unknown:0/0/0", HM_ORIGIN_SYSFS, NULL},
    {"the node with CPUs first, then by distance",
     {CPU(.gib = 1), MEM(.gib = 1, .distance = 40), MEM(.gib = 1, .distance = 17)},
     {{0}}, "fast=unknown:0/0/0 tier2=unknown:2/0/0 slow=unknown:1/0/0", HM_ORIGIN_DISTANCE, NULL},
    {"smaller memory without figures may be HBM",
     {CPU(.gib = 9), MEM(.gib = 1, .distance = 17)},
     {{0}}, "fast=unknown:0/0/0 slow=unknown:1/0/0", HM_ORIGIN_DISTANCE, "smaller, as HBM is"},
    {"nothing tells",
     {CPU(.gib = 0), MEM(.gib = 1, .bandwidth = 9), MEM(.gib = 1, .latency = 9, .kind = HM_KIND_CXL)},
     {{0}}, "fast=unknown:1/0/9 cxl=cxl:2/9/0", HM_ORIGIN_NONE, "nothing tells"},
    /* the configuration */
    {"names, kinds and order of the file",
     {CPU(.gib = 1, .bandwidth = 300), MEM(.gib = 1, .bandwidth = 400)},
     {TIER("near", "0", .kind = HM_KIND_DRAM), TIER("far", "1", .kind = HM_KIND_CXL)},
     "near=dram:0/0/300 far=cxl:1/0/400", HM_ORIGIN_CONFIG, NULL},
    {"bandwidths of the file decide where all have one",
     {CPU(.gib = 1), MEM(.gib = 1)},
     {TIER("a", "0", .bandwidth = 100), TIER("b", "1", .bandwidth = 200)}, "b=unknown:1/0/200 a=unknown:0/0/100",
     HM_ORIGIN_CONFIG, NULL},
    {"a listed tier beside found ones stands where its figures put it",
     {CPU(.gib = 1, .bandwidth = 300), MEM(.gib = 1, .bandwidth = 100), MEM(.gib = 1, .bandwidth = 50)},
     {TIER("pmem", "2")}, "dram=dram:0/0/300 tier2=unknown:1/0/100 pmem=pmem:2/0/50", HM_ORIGIN_ATTRIBUTES, NULL},
    {"nodes of unlike figures in one listed tier",
     {CPU(.gib = 1, .bandwidth = 300), MEM(.gib = 1, .bandwidth = 100), MEM(.gib = 1, .bandwidth = 20)},
     {TIER("slow", "1-2")}, "fast=unknown:0/0/300 slow=unknown:1-2/0/120", HM_ORIGIN_ATTRIBUTES, NULL},
    {"figures for a kind",
     {CPU(.gib = 1, .bandwidth = 300), MEM(.gib = 1, .bandwidth = 100, .kind = HM_KIND_PMEM)},
     {TIER("pmem", NULL, .latency = 350, .bandwidth = 80)}, "dram=dram:0/0/300 pmem=pmem:1/350/80",
     HM_ORIGIN_ATTRIBUTES, NULL},
    {"another name for a kind",
     {CPU(.gib = 1, .bandwidth = 300), MEM(.gib = 1, .bandwidth = 100, .kind = HM_KIND_PMEM)},
     {TIER("optane", NULL, .kind = HM_KIND_PMEM)}, "dram=dram:0/0/300 optane=pmem:1/0/100", HM_ORIGIN_ATTRIBUTES, NULL},
    {"figures and kind for a name that grouping gives",
     {CPU(.gib = 1), MEM(.gib = 1)},
     {TIER("slow", NULL, .kind = HM_KIND_CXL, .latency = 250)}, "fast=unknown:0/0/0 slow=cxl:1/250/0",
     HM_ORIGIN_DISTANCE, NULL},
    {"a tier that this machine has not",
     {CPU(.gib = 1)},
     {TIER("pmem", NULL, .latency = 350)}, "fast=unknown:0/0/0", HM_ORIGIN_HWLOC, "tier pmem lists no nodes"},
    {"a listed node without memory",
     {CPU(.gib = 1), MEM(.gib = 0)},
     {TIER("pmem", "1")}, "fast=unknown:0/0/0", HM_ORIGIN_HWLOC, "names node 1, which has no memory"},
    {"a listed node that is hidden",
     {CPU(.gib = 1), MEM(.gib = 1, .is_hidden = true)},
     {TIER("pmem", "1")}, "dram=dram:0/0/0", HM_ORIGIN_HWLOC, "hides nodes 1"},
    {"a listed device",
     {CPU(.gib = 1), MEM(.gib = 1, .is_device = true)},
     {TIER("gpu", "1"), TIER("cpu", "0")}, "gpu=unknown:1/0/0 cpu=unknown:0/0/0", HM_ORIGIN_CONFIG, NULL},
    {"a name that a found tier would have taken",
     {CPU(.gib = 1), MEM(.gib = 1, .kind = HM_KIND_CXL, .bandwidth = 10),
      MEM(.gib = 1, .kind = HM_KIND_CXL, .bandwidth = 9)},
     {TIER("cxl", "2")}, "dram=dram:0/0/0 cxl2=cxl:1/0/10 cxl=cxl:2/0/9", HM_ORIGIN_HWLOC, NULL},
};
/* clang-format on */

static void groups_and_orders(void **state)
{
    struct hm_tiers *tiers = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hm_topology *topology = make_topology(rows[i].nodes);
        struct hm_config *config = make_config(rows[i].tiers);
        struct hm_error error = {""};
        char text[512];
        if (hm_tiers_group(topology, config, tiers, &error) < 0)
            fail_msg("%s: %s", rows[i].what, error.text);
        describe(tiers, text, sizeof(text));
        if (strcmp(text, rows[i].found) != 0)
            fail_msg("%s:\n found %s\nwanted %s", rows[i].what, text, rows[i].found);
        if (tiers->order_origin != rows[i].order)
            fail_msg("%s: ordered by %s", rows[i].what, hm_origin_name(tiers->order_origin));
        if (tiers->n_warnings != (rows[i].warning != NULL) ||
            (rows[i].warning && !strstr(tiers->warning[0], rows[i].warning)))
            fail_msg("%s: %d warnings, the first \"%s\"", rows[i].what, tiers->n_warnings,
                     tiers->n_warnings ? tiers->warning[0] : "");
        free(config);
        free(topology);
    }
}

/* hybridmem.conf can name the tier of an energy model by its nodes, its kind, or its name. */
static void takes_the_model_of_energy(void **state)
{
    struct hm_tiers *tiers = *state;
    static const struct {
        enum hm_kind kind; /* kind of the second node */
        struct row_tier tiers[MAX_ROW_TIERS];
    } cases[] = {
        {HM_KIND_CXL, {TIER("far", "1")}}, {HM_KIND_CXL, {TIER("cxl", NULL)}}, {HM_KIND_UNKNOWN, {TIER("slow", NULL)}}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct row_node nodes[MAX_ROW_NODES] = {CPU(.gib = 2), MEM(.gib = 3, .kind = cases[i].kind)};
        struct hm_topology *topology = make_topology(nodes);
        struct hm_config *config = make_config(cases[i].tiers);
        config->tier[0].energy = (struct hm_energy_model){1.5, 6.25, 7};
        assert_int_equal(hm_tiers_group(topology, config, tiers, NULL), 0);
        assert_int_equal(tiers->n_tiers, 2);
        assert_memory_equal(&tiers->tier[1].energy, &config->tier[0].energy, sizeof(config->tier[0].energy));
        assert_float_equal(tiers->tier[0].energy.static_w, 0, 0);
        free(config);
        free(topology);
    }
}

/* Nine nodes have nine bandwidths, so each would be a tier. But there are at most eight tiers. */
static void leaves_out_what_is_too_much(void **state)
{
    struct hm_tiers *tiers = *state;
    struct hm_topology *topology = calloc(1, sizeof(*topology));
    uint64_t bandwidth = 1;

    assert_non_null(topology);
    for (int i = 0; i < HM_MAX_TIERS + 1; i++, bandwidth *= 3) {
        topology->node[i] =
            (struct hm_node){.id = i, .socket = -1, .sysfs_tier = -1, .allowed = true, .capacity_bytes = 1};
        topology->node[i].read_bandwidth_mbs = (struct hm_figure){bandwidth, HM_ORIGIN_ATTRIBUTES};
    }
    topology->n_nodes = HM_MAX_TIERS + 1;
    assert_int_equal(hm_tiers_group(topology, NULL, tiers, NULL), 0);
    assert_int_equal(tiers->n_tiers, HM_MAX_TIERS);
    assert_int_equal(hm_tiers_of_node(tiers, HM_MAX_TIERS), 0);
    assert_int_equal(hm_tiers_of_node(tiers, 0), -1);
    assert_int_equal(tiers->n_warnings, 1);
    assert_string_equal(tiers->tier[0].name, "fast");
    assert_string_equal(tiers->tier[1].name, "tier2");
    assert_string_equal(tiers->tier[HM_MAX_TIERS - 1].name, "slow");
    free(topology);
}

/* The topology may be that of the result. */
static void groups_in_place(void **state)
{
    struct hm_tiers *tiers = *state;
    const struct row_node nodes[MAX_ROW_NODES] = {CPU(.gib = 2), MEM(.gib = 3)};
    struct hm_topology *topology = make_topology(nodes);

    tiers->topology = *topology;
    free(topology);
    assert_int_equal(hm_tiers_group(&tiers->topology, NULL, tiers, NULL), 0);
    assert_int_equal(tiers->n_tiers, 2);
    assert_int_equal(tiers->tier[1].capacity_bytes, 3ull << 30);
}

static void looks_up(void **state)
{
    struct hm_tiers *tiers = *state;
    const struct row_node nodes[MAX_ROW_NODES] = {CPU(.gib = 2), MEM(.gib = 0), MEM(.gib = 3)};
    struct hm_topology *topology = make_topology(nodes);
    enum hm_kind kind = HM_KIND_UNKNOWN;

    topology->node[2].id = 5;
    assert_int_equal(hm_tiers_group(topology, NULL, tiers, NULL), 0);
    assert_int_equal(hm_topology_index(topology, 5), 2);
    assert_int_equal(hm_topology_index(topology, 2), -1);
    assert_int_equal(hm_tiers_of_node(tiers, 5), 1);
    assert_int_equal(hm_tiers_of_node(tiers, 1), -1);
    assert_int_equal(hm_tiers_of_node(tiers, -1), -1);
    free(topology);

    for (enum hm_kind each = HM_KIND_DRAM; each <= HM_KIND_HBM; each++) {
        assert_int_equal(hm_kind_parse(hm_kind_name(each), &kind), 0);
        assert_int_equal(kind, each);
    }
    static const char *const bad[] = {"", "unknown", "DRAM", "dram ", "pme", "nvm"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        errno = 0;
        assert_int_equal(hm_kind_parse(bad[i], &kind), -1);
        assert_int_equal(errno, EINVAL);
    }
    assert_string_equal(hm_kind_name((enum hm_kind)99), "unknown");
    assert_string_equal(hm_origin_name((enum hm_origin)99), "unknown");
    assert_string_equal(hm_origin_name(HM_ORIGIN_CONFIG), "hybridmem.conf");
}

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct hm_tiers));
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses),
        cmocka_unit_test(groups_and_orders),
        cmocka_unit_test(leaves_out_what_is_too_much),
        cmocka_unit_test(takes_the_model_of_energy),
        cmocka_unit_test(groups_in_place),
        cmocka_unit_test(looks_up),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
