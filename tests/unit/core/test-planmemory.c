/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the mode memory: which nodes it is for, and what its users are told. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/plan/plan.h"
#include "unit/lib/machines.h"
#include "unit/lib/planrow.h"
#include "unit/lib/rows.h"

static struct work work;

/* Plans for a machine whose first nodes are each behind a cache. */
static int resolve(const char *machine, const uint64_t cache_gib[2], uint64_t size_gib)
{
    memset(&work, 0, sizeof(work));
    machine_make(machine, &work.tiers);
    hm_config_defaults(&work.config);
    for (int i = 0; i < 2; i++)
        work.tiers.topology.node[i].side_cache_bytes = cache_gib[i] * GIB;
    work.where.size_bytes = size_gib * GIB;
    assert_int_equal(hm_request_parse("memory", &work.request, NULL), 0);
    return hm_plan_resolve(&work.request, &work.tiers, &work.config, &work.abilities, &work.where, &work.plan,
                           &work.error);
}

static const struct {
    const char *machine;
    uint64_t cache_gib[2], size_gib, sum_gib;
    const char *reason, *warning; /* how the reason begins; the only warning */
} plans[] = {
    {"one",
     {16, 16},
     0,
     32,
     "Nothing is bound: the fast memory is a cache, 32.0 GiB in front of the 128.0 GiB of nodes 0-1. ",
     NULL},
    {"one", {16, 16}, 32, 32, "Nothing is bound", NULL},
    {"one",
     {16, 16},
     33,
     32,
     "Nothing is bound",
     "33.0 GiB are more than the cache holds, 32.0 GiB: spill, migrate or isolate on another node may be faster"},
    {"one", {16, 16}, 200, 32, "Nothing is bound", "200.0 GiB do not fit: the memory behind the cache has 128.0 GiB"},
    {"one",
     {0, 8},
     0,
     8,
     "Nothing is bound: the fast memory is a cache, 8.0 GiB in front of the 64.0 GiB of node 1. ",
     "node 0 is behind no cache, and Linux may place memory there, too"},
    {"optane",
     {4, 4},
     0,
     8,
     "Nothing is bound: the fast memory is a cache, 8.0 GiB in front of the 168.0 GiB of nodes 0-1. ",
     "nodes 2-3 are behind no cache, and Linux may place memory there, too"},
    {"memoryless",
     {16, 0},
     0,
     16,
     "Nothing is bound",
     "node 2 is behind no cache, and Linux may place memory there, too"},
};

static void test_plans(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(plans); i++) {
        if (resolve(plans[i].machine, plans[i].cache_gib, plans[i].size_gib) != 0)
            fail_msg("row %zu: %s", i, work.error.text);
        assert_int_equal(work.plan.policy, HM_POLICY_DEFAULT);
        assert_true(hm_set_is_empty(&work.plan.nodes) && !work.plan.has_weights && !work.plan.migration.is_wanted);
        assert_true(work.plan.predicted_bandwidth_mbs < 0);
        assert_int_equal(work.plan.side_cache_bytes, plans[i].sum_gib * GIB);
        if (strncmp(work.plan.reason, plans[i].reason, strlen(plans[i].reason)) != 0)
            fail_msg("row %zu: %s", i, work.plan.reason);
        assert_int_equal(work.plan.n_warnings, plans[i].warning != NULL);
        if (plans[i].warning)
            assert_string_equal(work.plan.warning[0], plans[i].warning);
    }
}

static void test_the_reason_says_what_a_cache_does_not_help(void **state)
{
    (void)state;
    assert_int_equal(resolve("one", (const uint64_t[2]){16, 16}, 0), 0);
    assert_non_null(strstr(work.plan.reason, "the cache of its own socket"));
    assert_non_null(strstr(work.plan.reason, "latency mode"));
    assert_non_null(strstr(work.plan.reason, "Non-temporal stores"));
    assert_int_equal(work.plan.reason[strlen(work.plan.reason) - 1], '.'); /* not cut */
}

static void test_a_node_without_a_cache_is_refused(void **state)
{
    (void)state;
    assert_int_equal(resolve("optane", (const uint64_t[2]){0, 0}, 0), -1);
    assert_int_equal(errno, ENODEV);
    assert_string_equal(work.error.text,
                        "--hybrid-mem=memory: no memory here is behind a memory-side cache: the job needs a node that "
                        "has one, by the constraint memmode=cache: this node has dram (nodes 0-1), pmem (nodes 2-3)");
    /* Node 2 of this machine is behind a cache, but the cpuset hides it. */
    memset(&work, 0, sizeof(work));
    machine_make("hidden", &work.tiers);
    work.tiers.topology.node[2].side_cache_bytes = GIB;
    assert_int_equal(hm_request_parse("memory", &work.request, NULL), 0);
    assert_int_equal(hm_plan_resolve(&work.request, &work.tiers, &work.config, &work.abilities, &work.where, &work.plan,
                                     &work.error),
                     -1);
    assert_int_equal(errno, ENODEV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_the_reason_says_what_a_cache_does_not_help),
        cmocka_unit_test(test_a_node_without_a_cache_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
