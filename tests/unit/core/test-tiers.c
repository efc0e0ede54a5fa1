/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how nodes are grouped into tiers and how tiers are ordered, on topologies made here. What hybridmem.conf
 * changes is in test-tiersconfig.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tierrow.h"
#include "unit/lib/rows.h"

/* clang-format off */
static const struct tierrow_bad bad_rows[] = {
    {"no node", {{0}}, {{0}}, ENODEV, "no NUMA node with memory"},
    {"no memory", {CPU(.gib = 0)}, {{0}}, ENODEV, "no NUMA node with memory"},
    {"hidden", {CPU(.gib = 1, .is_hidden = true)}, {{0}}, ENODEV, "hides nodes 0"},
    {"only a GPU's", {CPU(.gib = 0), MEM(.gib = 80, .is_device = true)}, {{0}}, ENODEV, "no NUMA node with memory"},
};
/* clang-format on */

static void refuses(void **state)
{
    tierrow_refuses(bad_rows, N_ROWS(bad_rows), *state);
}

/* clang-format off */
static const struct tierrow rows[] = {
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
    {"more than twice the bandwidth without CPUs is HBM",
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
};
/* clang-format on */

static void groups_and_orders(void **state)
{
    tierrow_groups(rows, N_ROWS(rows), *state);
}

/* The kernel numbers its tiers from 0, and only -1 means that a node's tier is not known. The rows above cannot test 0,
 * as 0 means in them that the tier is not given. */
static void the_first_sysfs_tier_is_the_fastest(void **state)
{
    struct hm_tiers *tiers = *state;
    const struct tierrow_node nodes[TIERROW_NODES] = {CPU(.gib = 1, .sysfs_tier = 4), MEM(.gib = 1)};
    struct hm_topology *topology = tierrow_topology(nodes);

    topology->node[1].sysfs_tier = 0;
    assert_int_equal(hm_tiers_group(topology, NULL, tiers, NULL), 0);
    assert_int_equal(hm_tiers_of_node(tiers, 1), 0);
    assert_int_equal(hm_tiers_of_node(tiers, 0), 1);
    free(topology);
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

/* The topology that is grouped may be the one inside of the result. */
static void groups_in_place(void **state)
{
    struct hm_tiers *tiers = *state;
    const struct tierrow_node nodes[TIERROW_NODES] = {CPU(.gib = 2), MEM(.gib = 3)};
    struct hm_topology *topology = tierrow_topology(nodes);

    tiers->topology = *topology;
    free(topology);
    assert_int_equal(hm_tiers_group(&tiers->topology, NULL, tiers, NULL), 0);
    assert_int_equal(tiers->n_tiers, 2);
    assert_int_equal(tiers->tier[1].capacity_bytes, 3ull << 30);
}

static void looks_up(void **state)
{
    struct hm_tiers *tiers = *state;
    const struct tierrow_node nodes[TIERROW_NODES] = {CPU(.gib = 2), MEM(.gib = 0), MEM(.gib = 3)};
    struct hm_topology *topology = tierrow_topology(nodes);
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
    for (size_t i = 0; i < N_ROWS(bad); i++) {
        errno = 0;
        assert_int_equal(hm_kind_parse(bad[i], &kind), -1);
        assert_int_equal(errno, EINVAL);
    }
    assert_string_equal(hm_kind_name((enum hm_kind)99), "unknown");
    assert_string_equal(hm_origin_name((enum hm_origin)99), "unknown");
    assert_string_equal(hm_origin_name(HM_ORIGIN_CONFIG), "hybridmem.conf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses),
        cmocka_unit_test(groups_and_orders),
        cmocka_unit_test(the_first_sysfs_tier_is_the_fastest),
        cmocka_unit_test(leaves_out_what_is_too_much),
        cmocka_unit_test(groups_in_place),
        cmocka_unit_test(looks_up),
    };
    return cmocka_run_group_tests(tests, tierrow_setup, tierrow_teardown);
}
