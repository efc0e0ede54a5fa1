/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what hybridmem.conf changes in the tiers that are found: their nodes, names, kinds, figures and order. */
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
    tierrow_refuses(bad_rows, N_ROWS(bad_rows), *state);
}

/* clang-format off */
static const struct tierrow rows[] = {
    {"names, kinds and order of the file",
     {CPU(.gib = 1, .bandwidth = 300), MEM(.gib = 1, .bandwidth = 400)},
     {TIER("near", "0", .kind = HM_KIND_DRAM), TIER("far", "1", .kind = HM_KIND_CXL)},
     "near=dram:0/0/300 far=cxl:1/0/400", HM_ORIGIN_CONFIG, NULL},
    {"the order of the file is not doubted, also beside a found tier",
     {CPU(.gib = 1, .bandwidth = 300), MEM(.gib = 1, .bandwidth = 100), MEM(.gib = 1, .bandwidth = 50)},
     {TIER("pmem", "1", .kind = HM_KIND_PMEM), TIER("dram", "0", .kind = HM_KIND_DRAM)},
     "pmem=pmem:1/0/100 dram=dram:0/0/300 slow=unknown:2/0/50", HM_ORIGIN_ATTRIBUTES, NULL},
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
    {"figures for a kind of which there are two tiers",
     {CPU(.gib = 1), MEM(.gib = 1, .kind = HM_KIND_CXL, .bandwidth = 100),
      MEM(.gib = 1, .kind = HM_KIND_CXL, .bandwidth = 20)},
     {TIER("cxl", NULL, .latency = 250)}, "dram=dram:0/0/0 cxl=cxl:1/250/100 cxl2=cxl:2/0/20", HM_ORIGIN_HWLOC, NULL},
    {"another name for a kind of which there are two tiers",
     {CPU(.gib = 1), MEM(.gib = 1, .kind = HM_KIND_CXL, .bandwidth = 100),
      MEM(.gib = 1, .kind = HM_KIND_CXL, .bandwidth = 20)},
     {TIER("far", NULL, .kind = HM_KIND_CXL)}, "dram=dram:0/0/0 cxl=cxl:1/0/100 cxl2=cxl:2/0/20", HM_ORIGIN_HWLOC,
     "no tier here has its name, and there is not exactly one tier of its kind"},
    {"figures and kind for a name that grouping gives",
     {CPU(.gib = 1), MEM(.gib = 1)},
     {TIER("slow", NULL, .kind = HM_KIND_CXL, .latency = 250)}, "fast=unknown:0/0/0 slow=cxl:1/250/0",
     HM_ORIGIN_DISTANCE, NULL},
    {"a tier that this machine has not",
     {CPU(.gib = 1)},
     {TIER("pmem", NULL, .latency = 350)}, "fast=unknown:0/0/0", HM_ORIGIN_HWLOC, "tier pmem is ignored: it lists no nodes"},
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

static void the_configuration_overrides(void **state)
{
    tierrow_groups(rows, N_ROWS(rows), *state);
}

/* hybridmem.conf can name the tier of an energy model by its nodes, its kind, or its name. */
static void takes_the_model_of_energy(void **state)
{
    struct hm_tiers *tiers = *state;
    static const struct {
        enum hm_kind kind; /* kind of the second node */
        struct tierrow_tier tiers[TIERROW_TIERS];
    } cases[] = {
        {HM_KIND_CXL, {TIER("far", "1")}}, {HM_KIND_CXL, {TIER("cxl", NULL)}}, {HM_KIND_UNKNOWN, {TIER("slow", NULL)}}};
    for (size_t i = 0; i < N_ROWS(cases); i++) {
        const struct tierrow_node nodes[TIERROW_NODES] = {CPU(.gib = 2), MEM(.gib = 3, .kind = cases[i].kind)};
        struct hm_topology *topology = tierrow_topology(nodes);
        struct hm_config *config = tierrow_config(cases[i].tiers);
        config->tier[0].energy = (struct hm_energy_model){1.5, 6.25, 7};
        assert_int_equal(hm_tiers_group(topology, config, tiers, NULL), 0);
        assert_int_equal(tiers->n_tiers, 2);
        assert_memory_equal(&tiers->tier[1].energy, &config->tier[0].energy, sizeof(config->tier[0].energy));
        assert_float_equal(tiers->tier[0].energy.static_w, 0, 0);
        free(config);
        free(topology);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses),
        cmocka_unit_test(the_configuration_overrides),
        cmocka_unit_test(takes_the_model_of_energy),
    };
    return cmocka_run_group_tests(tests, tierrow_setup, tierrow_teardown);
}
