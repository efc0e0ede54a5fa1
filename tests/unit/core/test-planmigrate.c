/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the modes with a migrator: where memory starts, and what the migrator is told. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/installed.h"
#include "unit/lib/planrow.h"
#include "unit/lib/rows.h"

static const struct row rows[] = {
    {"optane", "migrate", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1", .predicted_gbs = -1,
     .reason = "goes to pmem (nodes 2-3), nearest node first; then the migrator keeps the job's hottest data in dram "
               "(nodes 0-1)."},
    {"optane", "migrate,fast=16G", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1", .predicted_gbs = -1,
     .reason = "hottest data in dram (nodes 0-1), at most 16.0 GiB of it."},
    {"optane", "migrate,fast=25%,socket=local", SHARED, .policy = HM_POLICY_BIND, .nodes = "0,2", .predicted_gbs = -1,
     .reason = "hottest data in dram (node 0), at most 21.0 GiB of it."},
    {"optane", "migrate,fast=1T", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1", .predicted_gbs = -1,
     .reason = "at most 1.0 TiB", .warning = "fast=: 1.0 TiB are more than dram (nodes 0-1) has: 168.0 GiB"},
    {"kmem", "migrate", SHARED, .config = "migrate = \"fast=10%\"", .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1",
     .predicted_gbs = -1,
     .reason = "kept in reserve for the kernel, which cannot use pmem; then the migrator keeps the job's hottest data "
               "in dram (nodes 0-1), at most 20.0 GiB of it."},
    {"cxl", "migrate", ALONE, .policy = HM_POLICY_WEIGHTED_INTERLEAVE, .nodes = "0-2", .weights = "0:3 1:3 2:2",
     .must_set = true, .predicted_gbs = 400, .reason = "75% of the pages go to dram"},
    {"cxl", "migrate,fast=1G", ALONE, .policy = HM_POLICY_WEIGHTED_INTERLEAVE, .nodes = "0-2", .weights = "0:3 1:3 2:2",
     .must_set = true, .predicted_gbs = -1, .reason = "at most 1.0 GiB of it"},
    {"three", "migrate", SHARED, .config = "channels \"hbm+pmem\" { kind = shared }", .policy = HM_POLICY_INTERLEAVE,
     .nodes = "2-3", .predicted_gbs = -1,
     .reason = "hottest data in hbm (nodes 2-3), and the next in dram (nodes 0-1).",
     .warning = "of tier pmem or a tier between"},
    {"optane", "migrate,source=faults", SHARED, .policy = HM_POLICY_BIND_BALANCING, .nodes = "0-3", .predicted_gbs = -1,
     .reason = "Memory comes from dram (nodes 0-1) and pmem (nodes 2-3), nearest node first, as the kernel's hint "
               "faults see no other placement; then the migrator"},
    {"optane", "migrate,source=faults", .cpus = "0", .kernel = "5.11", .policy = HM_POLICY_DEFAULT, .nodes = "",
     .predicted_gbs = -1, .reason = "Nearest node first, as the kernel's hint faults see no other placement; then",
     .warning = "source=faults: this kernel has no policy for it (Linux 5.12 has)"},
    {"kmem", "migrate", SHARED, .config = "migrate = \"source=faults\"", .policy = HM_POLICY_BIND_BALANCING,
     .nodes = "0-3", .predicted_gbs = -1, .reason = "; 4.0 GiB of dram are kept in reserve"},
    {"optane", "isolate", SHARED, .policy = HM_POLICY_DEFAULT, .nodes = "", .predicted_gbs = -1,
     .reason = "Large allocations start in pmem (nodes 2-3), and all else where Linux places it; then the migrator "
               "keeps the job's most written data in dram (nodes 0-1)."},
    {"optane", "isolate,fast=25%,socket=local", SHARED, .policy = HM_POLICY_DEFAULT, .nodes = "", .predicted_gbs = -1,
     .reason = "start in pmem (node 2), and all else where Linux places it; then the migrator keeps the job's most "
               "written data in dram (node 0), at most 21.0 GiB of it."},
    {"optane", "isolate,hot-by=accesses", SHARED, .policy = HM_POLICY_DEFAULT, .nodes = "", .predicted_gbs = -1,
     .reason = "the job's hottest data in dram"},
    {"cxl", "isolate", SHARED, .policy = HM_POLICY_DEFAULT, .nodes = "", .predicted_gbs = -1,
     .reason = "Large allocations start in cxl (node 2)"},
};

static void test_plans(void **state)
{
    (void)state;
    planrow_check(rows, N_ROWS(rows));
}

/* The migrator is told the job's keys; the site's where the job has none; the built-in ones where neither has one. */
static void test_migration(void **state)
{
    struct work *work = malloc(sizeof(*work));
    const struct row row = {"optane", "migrate,fast=1G,bins=64", SHARED,
                            .config = "migrate = \"bins=99,period=5000,interval=2s,algorithm=bins\""};
    const struct row plain = {"optane", "migrate,socket=local", SHARED}, spill = {"optane", "spill", SHARED};
    const struct hm_migrate_keys said = {.fast_bytes = GIB,
                                         .bins = 64,
                                         .period = 5000,
                                         .interval_ms = 2000,
                                         .overhead_percent = 1,
                                         .algorithm = HM_ALGORITHM_BINS,
                                         .source = "auto",
                                         .hot_by = HM_HOT_BY_ACCESSES};
    const struct hm_migrate_keys unsaid = {.interval_ms = 10000,
                                           .overhead_percent = 1,
                                           .algorithm = HM_ALGORITHM_REGIONS,
                                           .source = "auto",
                                           .hot_by = HM_HOT_BY_ACCESSES};
    const struct hm_plan_migration *migration = &work->plan.migration;
    char list[64];
    (void)state;
    assert_non_null(work);
    assert_int_equal(planrow_resolve(work, &row), 0);
    assert_true(migration->is_wanted);
    assert_memory_equal(&migration->keys, &said, sizeof(said));
    assert_int_equal(migration->cap_bytes, GIB);
    assert_string_equal(hm_set_format(&migration->fast_nodes, list, sizeof(list)), "0-1");
    assert_string_equal(hm_set_format(&migration->slow_nodes, list, sizeof(list)), "2-3");
    assert_true(migration->read_latency == 0 && migration->write_latency == 0);
    assert_int_equal(planrow_resolve(work, &plain), 0);
    assert_memory_equal(&migration->keys, &unsaid, sizeof(unsaid));
    assert_int_equal(migration->cap_bytes, 0);
    assert_string_equal(hm_set_format(&migration->fast_nodes, list, sizeof(list)), "0");
    assert_string_equal(hm_set_format(&migration->slow_nodes, list, sizeof(list)), "2");
    assert_int_equal(planrow_resolve(work, &spill), 0);
    assert_false(migration->is_wanted);
    free(work);
}

/* The middle tier's latencies are told where they lie between those of the fast and the slow one. */
static void test_tiers_between(void **state)
{
    static const struct {
        uint64_t fast, middle, slow; /* read latencies in ns; writes take twice as long */
        double read, write;
        bool lacks_writes; /* their latencies are unknown */
    } cases[] = {{100, 150, 400, 1.5, 1.5, false},
                 {100, 450, 400, 0, 0, false},
                 {100, 90, 400, 0, 0, false},
                 {100, 0, 400, 0, 0, false},
                 {100, 150, 400, 1.5, 0, true}};
    struct work *work = malloc(sizeof(*work));
    const struct row three = {"three", "migrate", SHARED}, bins = {"three", "migrate,algorithm=bins", SHARED};
    const struct hm_plan_migration *migration = &work->plan.migration;
    (void)state;
    assert_non_null(work);
    assert_int_equal(planrow_resolve(work, &bins), 0);
    assert_int_equal(migration->n_middle, 0);
    assert_int_equal(planrow_resolve(work, &three), 0);
    assert_int_equal(migration->n_middle, 1);
    for (size_t i = 0; i < N_ROWS(cases); i++) {
        const uint64_t ns[] = {cases[i].fast, cases[i].middle, cases[i].slow};
        for (int tier = 0; tier < 3; tier++) {
            enum hm_origin origin = ns[tier] > 0 ? HM_ORIGIN_CONFIG : HM_ORIGIN_NONE;
            work->tiers.tier[tier].read_latency_ns = (struct hm_figure){ns[tier], origin};
            for (int node = 0; node < work->tiers.topology.n_nodes; node++)
                if (hm_set_has(&work->tiers.tier[tier].nodes, (unsigned)work->tiers.topology.node[node].id))
                    work->tiers.topology.node[node].write_latency_ns =
                        (struct hm_figure){2 * ns[tier], cases[i].lacks_writes ? HM_ORIGIN_NONE : origin};
        }
        assert_int_equal(hm_plan_resolve(&work->request, &work->tiers, &work->config, &work->abilities, &work->where,
                                         &work->plan, &work->error),
                         0);
        assert_float_equal(migration->middle[0].read_latency, cases[i].read, 1e-9);
        assert_float_equal(migration->middle[0].write_latency, cases[i].write, 1e-9);
        assert_true(migration->read_latency > 0);
    }
    free(work);
}

/* Weights that the kernel sets are used where they are near enough, and the plan says whose they are. */
static void test_weights_that_the_kernel_sets(void **state)
{
    struct work *work = malloc(sizeof(*work));
    const struct row near = {"cxl", "migrate", SHARED, .weights_now = "0:3 1:3 2:2"},
                     other = {"cxl", "migrate", ALONE, .weights_now = "0:1 1:1 2:9"};
    (void)state;
    assert_non_null(work);
    for (int is_auto = 0; is_auto < 2; is_auto++)
        for (int is_other = 0; is_other < 2; is_other++) {
            assert_int_equal(planrow_resolve(work, is_other ? &other : &near), 0);
            work->abilities.weights_auto = is_auto;
            assert_int_equal(hm_plan_resolve(&work->request, &work->tiers, &work->config, &work->abilities,
                                             &work->where, &work->plan, &work->error),
                             0);
            assert_true(work->plan.has_weights);
            assert_int_equal(work->plan.must_set_weights, is_other);
            assert_int_equal(work->plan.weights_auto, is_auto);
        }
    free(work);
}

/* Plans again with figures of the tiers that the machine lacks: 240 and 100 GB/s, 100 and 250 ns. */
static void resolve_with_figures(struct work *work, const struct row *row)
{
    struct hm_tier *fast = &work->tiers.tier[0], *slow = &work->tiers.tier[1];
    assert_int_equal(planrow_resolve(work, row), 0);
    fast->read_latency_ns = (struct hm_figure){100, HM_ORIGIN_CONFIG};
    fast->read_bandwidth_mbs = (struct hm_figure){240000, HM_ORIGIN_CONFIG};
    slow->read_latency_ns = (struct hm_figure){250, HM_ORIGIN_CONFIG};
    slow->read_bandwidth_mbs = (struct hm_figure){100000, HM_ORIGIN_CONFIG};
    assert_int_equal(hm_plan_resolve(&work->request, &work->tiers, &work->config, &work->abilities, &work->where,
                                     &work->plan, &work->error),
                     0);
}

/* The prediction for STREAM's triad: data that is equally hot, and uses up the bandwidth. The tiers serve 0.95 of their
 * peaks. */
static void test_balance(void **state)
{
    static const struct {
        struct row row;
        enum hm_curves curves;
        double share, gbs, hottest_gbs; /* negative: not known */
        const char *why;
    } cases[] = {
        {{"cxl", "migrate", SHARED}, HM_CURVES_TIERS, 240.0 / 340, 323, 228, ""},
        /* where the channels are shared, all of it belongs in the fast tier */
        {{"cxl", "migrate", SHARED, .config = "channels \"dram+cxl\" { kind = shared }"},
         HM_CURVES_TIERS,
         1,
         228,
         228,
         ""},
        /* one of two sockets: half of dram's bandwidth, and all of the expander's */
        {{"cxl", "migrate,socket=local", SHARED}, HM_CURVES_TIERS, 120.0 / 220, 209, 114, ""},
        /* a twentieth of the data fits below the cap */
        {{"cxl", "migrate,fast=4G", SHARED, .size_gib = 80}, HM_CURVES_TIERS, 0.05, 100, 100, ""},
        {{"cxl", "migrate", SHARED, .config = "load = /x"}, HM_CURVES_FILE, -1, -1, -1, ""},
        {{"cxl", "migrate,hot-by=writes", SHARED}, HM_CURVES_NONE, -1, -1, -1, "only writes make data hot"},
        {{"cxl", "migrate,algorithm=bins", SHARED}, HM_CURVES_NONE, -1, -1, -1, "the algorithm bins does not balance"},
    };
    struct work *work = malloc(sizeof(*work));
    const struct hm_plan_balance *balance = &work->plan.migration.balance;
    (void)state;
    assert_non_null(work);
    for (size_t i = 0; i < N_ROWS(cases); i++) {
        resolve_with_figures(work, &cases[i].row);
        assert_int_equal(balance->curves, cases[i].curves);
        assert_float_equal(balance->share, cases[i].share, 1e-9);
        assert_float_equal(balance->bandwidth_mbs, cases[i].gbs < 0 ? -1 : cases[i].gbs * 1000, 1e-6);
        assert_float_equal(balance->hottest_mbs, cases[i].hottest_gbs < 0 ? -1 : cases[i].hottest_gbs * 1000, 1e-6);
        assert_string_equal(balance->why, cases[i].why);
    }
    const struct row unknown = {"optane", "migrate", SHARED};
    assert_int_equal(planrow_resolve(work, &unknown), 0);
    assert_string_equal(balance->why, "the read latency of tier dram is not known");
    free(work);
}

/* Whether all accesses or only writes make data hot: the job's key decides. Without the key, isolate counts writes, and
 * migrate does what the site's key says; without that key, too, migrate counts all accesses. */
static void test_what_is_hot(void **state)
{
    static const char by_writes[] = "migrate = \"hot-by=writes\"", by_accesses[] = "migrate = \"hot-by=accesses\"";
    static const struct {
        struct row row;
        enum hm_hot_by wanted;
    } rows_of_heat[] = {
        {{"optane", "isolate", SHARED}, HM_HOT_BY_WRITES},
        {{"optane", "isolate", SHARED, .config = by_accesses}, HM_HOT_BY_WRITES},
        {{"optane", "isolate,hot-by=accesses", SHARED}, HM_HOT_BY_ACCESSES},
        {{"optane", "migrate", SHARED}, HM_HOT_BY_ACCESSES},
        {{"optane", "migrate", SHARED, .config = by_writes}, HM_HOT_BY_WRITES},
        {{"optane", "migrate,hot-by=accesses", SHARED, .config = by_writes}, HM_HOT_BY_ACCESSES},
    };
    struct work *work = malloc(sizeof(*work));
    (void)state;
    assert_non_null(work);
    for (size_t i = 0; i < N_ROWS(rows_of_heat); i++) {
        assert_int_equal(planrow_resolve(work, &rows_of_heat[i].row), 0);
        assert_true(work->plan.migration.is_wanted);
        assert_int_equal(work->plan.migration.keys.hot_by, rows_of_heat[i].wanted);
    }
    free(work);
}

/* Without the preload library isolate is refused, and migrate is not. */
static void test_without_the_preload_library(void **state)
{
    const struct row isolate = {"optane", "isolate", SHARED}, migrate = {"optane", "migrate", SHARED};
    struct work *work = malloc(sizeof(*work));
    (void)state;
    assert_non_null(work);
    assert_int_equal(planrow_resolve(work, &isolate), 0);
    work->abilities.lacks_preload = true;
    assert_int_equal(hm_plan_resolve(&work->request, &work->tiers, &work->config, &work->abilities, &work->where,
                                     &work->plan, &work->error),
                     -1);
    assert_int_equal(errno, ENODEV);
    assert_non_null(strstr(work->error.text, "--hybrid-mem=isolate: the library that sends allocations to the slow "
                                             "tier is not installed on this node: "));
    assert_non_null(strstr(work->error.text, hm_preload_library()));
    assert_int_equal(planrow_resolve(work, &migrate), 0);
    work->abilities.lacks_preload = true;
    assert_int_equal(hm_plan_resolve(&work->request, &work->tiers, &work->config, &work->abilities, &work->where,
                                     &work->plan, &work->error),
                     0);
    free(work);
}

/* With isolate, large data starts in the slow tier. It can move to the fast tier only where writes are seen, unless the
 * job asks for hot-by=accesses. */
static void test_where_nothing_tells_writes(void **state)
{
    static const struct {
        const char *request;
        bool lacks_marks, lacks_store_samples;
        int result;
    } rows_of_abilities[] = {
        {"isolate", false, true, 0},
        {"isolate", true, false, 0},
        {"isolate,source=perf", true, false, 0},
        {"isolate,source=damon", true, false, -1},
        {"isolate,source=damon", false, true, 0},
        {"isolate", true, true, -1},
        {"isolate,hot-by=accesses", true, true, 0},
        {"migrate", true, true, 0},
    };
    struct work *work = malloc(sizeof(*work));
    (void)state;
    assert_non_null(work);
    for (size_t i = 0; i < N_ROWS(rows_of_abilities); i++) {
        const struct row row = {"optane", rows_of_abilities[i].request, SHARED};
        assert_int_equal(planrow_resolve(work, &row), 0);
        work->abilities.lacks_marks = rows_of_abilities[i].lacks_marks;
        work->abilities.lacks_store_samples = rows_of_abilities[i].lacks_store_samples;
        assert_int_equal(hm_plan_resolve(&work->request, &work->tiers, &work->config, &work->abilities, &work->where,
                                         &work->plan, &work->error),
                         rows_of_abilities[i].result);
        if (rows_of_abilities[i].result == 0)
            continue;
        assert_int_equal(errno, ENODEV);
        assert_non_null(strstr(work->error.text, rows_of_abilities[i].request));
        assert_non_null(strstr(work->error.text, ": nothing on this node tells writes from reads: "));
    }
    free(work);
}

/* The migrator is told how many times longer a read and a write take in the slow tier than in the fast one. Both
 * figures come from the tiers' latencies: 0 where a latency is unknown, or the slow tier's is not higher. The slow
 * tier's bandwidths can raise the figure for writes, to that for reads times (read bandwidth / write bandwidth). */
static void test_latencies(void **state)
{
    static const struct {
        uint64_t fast, slow, fast_write, slow_write; /* latencies in ns; 0: unknown */
        uint64_t slow_write_mbs; /* write bandwidth of the slow tier, whose read bandwidth is 39000; 0: unknown */
        double read, write;      /* how many times longer */
    } rows_of_latency[] = {
        {80, 240, 100, 500, 0, 3, 5},      {80, 240, 0, 500, 13000, 3, 0},    {0, 240, 100, 0, 13000, 0, 0},
        {120, 100, 100, 100, 13000, 0, 0}, {80, 240, 80, 240, 13000, 3, 9},   {80, 240, 80, 240, 39000, 3, 3},
        {80, 240, 80, 240, 50000, 3, 3},   {80, 240, 80, 1200, 13000, 3, 15},
    };
    const struct row row = {"optane", "migrate", SHARED};
    struct work *work = malloc(sizeof(*work));
    (void)state;
    assert_non_null(work);
    for (size_t i = 0; i < N_ROWS(rows_of_latency); i++) {
        const uint64_t read[] = {rows_of_latency[i].fast, rows_of_latency[i].slow};
        const uint64_t write[] = {rows_of_latency[i].fast_write, rows_of_latency[i].slow_write};
        assert_int_equal(planrow_resolve(work, &row), 0);
        for (int t = 0; t < 2; t++) {
            struct hm_figure *figure = &work->tiers.topology.node[t * 2].write_latency_ns;
            if (read[t])
                work->tiers.tier[t].read_latency_ns = (struct hm_figure){read[t], HM_ORIGIN_ATTRIBUTES};
            if (write[t])
                *figure = (struct hm_figure){write[t], HM_ORIGIN_ATTRIBUTES};
        }
        work->tiers.tier[1].read_bandwidth_mbs = (struct hm_figure){39000, HM_ORIGIN_ATTRIBUTES};
        if (rows_of_latency[i].slow_write_mbs)
            work->tiers.tier[1].write_bandwidth_mbs =
                (struct hm_figure){rows_of_latency[i].slow_write_mbs, HM_ORIGIN_ATTRIBUTES};
        assert_int_equal(hm_plan_resolve(&work->request, &work->tiers, &work->config, &work->abilities, &work->where,
                                         &work->plan, &work->error),
                         0);
        assert_float_equal(work->plan.migration.read_latency, rows_of_latency[i].read, 1e-9);
        assert_float_equal(work->plan.migration.write_latency, rows_of_latency[i].write, 1e-9);
    }
    free(work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_migration),
        cmocka_unit_test(test_tiers_between),
        cmocka_unit_test(test_weights_that_the_kernel_sets),
        cmocka_unit_test(test_balance),
        cmocka_unit_test(test_what_is_hot),
        cmocka_unit_test(test_without_the_preload_library),
        cmocka_unit_test(test_where_nothing_tells_writes),
        cmocka_unit_test(test_latencies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
