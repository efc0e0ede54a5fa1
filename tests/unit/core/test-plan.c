/* SPDX-License-Identifier: Apache-2.0 */
/* Tests plans for requests on machines of several shapes: policy, nodes, weights, prediction and reason. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/lib/planrow.h"
#include "unit/lib/rows.h"

static const struct row rows[] = {
    {"optane", "off", SHARED, .policy = HM_POLICY_DEFAULT, .nodes = "", .predicted_gbs = -1,
     .reason = "Nothing is touched"},
    /* bind */
    {"optane", "fast", SHARED, .policy = HM_POLICY_BIND, .nodes = "0-1", .predicted_gbs = 204,
     .reason = "the fast tier, nodes 0-1"},
    {"optane", "slow", SHARED, .policy = HM_POLICY_BIND, .nodes = "2-3", .predicted_gbs = 78,
     .reason = "the slow tier"},
    {"optane", "slow,socket=local", SHARED, .policy = HM_POLICY_BIND, .nodes = "2", .predicted_gbs = 39,
     .reason = "node 2"},
    {"optane", "slow,socket=remote", SHARED, .policy = HM_POLICY_BIND, .nodes = "3", .predicted_gbs = 39,
     .reason = "node 3"},
    {"optane", "fast,socket=remote", .cpus = "4-5", .kernel = "6.12", .policy = HM_POLICY_BIND, .nodes = "0",
     .predicted_gbs = 102, .reason = "node 0"},
    {"optane", "fast,socket=local", .cpus = "3-4", .kernel = "6.12", .policy = HM_POLICY_BIND, .nodes = "0-1",
     .predicted_gbs = 204, .reason = "nodes 0-1"},
    {"optane", "dram", SHARED, .policy = HM_POLICY_BIND, .nodes = "0-1", .predicted_gbs = 204,
     .reason = "All memory comes from dram, nodes 0-1"},
    {"optane", "pmem", SHARED, .policy = HM_POLICY_BIND, .nodes = "2-3", .predicted_gbs = 78, .reason = "from pmem"},
    {"hbm", "fast", SHARED, .policy = HM_POLICY_BIND, .nodes = "2-3", .predicted_gbs = 1200, .reason = "the fast tier"},
    {"three", "dram", SHARED, .policy = HM_POLICY_BIND, .nodes = "0-1", .predicted_gbs = -1, .reason = "dram"},
    {"optane", "fast", SHARED, .size_gib = 200, .policy = HM_POLICY_BIND, .nodes = "0-1", .predicted_gbs = 204,
     .reason = "fast",
     .warning = "200.0 GiB do not fit: these nodes have 168.0 GiB, and the mode takes no other memory"},
    {"one", "fast", SHARED, .policy = HM_POLICY_BIND, .nodes = "0-1", .predicted_gbs = 200, .reason = "fast",
     .warning = "one tier only"},
    {"unknown", "dram", SHARED, .policy = HM_POLICY_BIND, .nodes = "0-1", .predicted_gbs = -1, .reason = "dram",
     .warning = "the kind of tier fast is not known: as the fast tier it is taken for dram"},
    {"unknown", "pmem", SHARED, .policy = HM_POLICY_BIND, .nodes = "2-3", .predicted_gbs = -1, .reason = "pmem",
     .warning = "the kind of tier slow is not known: as the slow tier it is taken for pmem"},
    {"unknown", "cxl", SHARED, .policy = HM_POLICY_BIND, .nodes = "2-3", .predicted_gbs = -1, .reason = "cxl",
     .warning = "taken for cxl"},
    {"optane", "fast", SHARED, .config = "tier \"dram\" { read_bandwidth = 100000 }", .policy = HM_POLICY_BIND,
     .nodes = "0-1", .predicted_gbs = 204, .reason = "fast"},
    /* interleave */
    {"optane", "interleave", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-3", .predicted_gbs = 112.85,
     .reason = "Pages alternate over dram (nodes 0-1) and pmem (nodes 2-3)"},
    {"optane", "interleave,socket=local", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "0,2",
     .predicted_gbs = 56.43, .reason = "dram (node 0) and pmem (node 2)"},
    {"optane", "interleave", SHARED, .size_gib = 1000, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-3",
     .predicted_gbs = 87.03, .reason = "Pages alternate"},
    {"three", "interleave", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "2-5", .predicted_gbs = -1,
     .reason = "hbm (nodes 2-3) and pmem (nodes 4-5)"},
    {"one", "interleave", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1", .predicted_gbs = 200,
     .reason = "only one tier",
     .warning = "interleave has no second tier to use here: only dram (nodes 0-1) has memory"},
    {"cxl", "interleave,socket=remote", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "1", .predicted_gbs = 150,
     .reason = "only one tier", .warning = "only dram (node 1)"},
    {"cxl", "interleave", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-2", .predicted_gbs = 300,
     .reason = "Pages alternate"},
    /* guided */
    {"optane", "guided,profile=a", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "2-3", .predicted_gbs = -1,
     .reason =
         "the profile chooses comes from dram (nodes 0-1), at most 168.0 GiB for each step, and all else from pmem "
         "(nodes 2-3), its nodes in turn."},
    {"optane", "guided,profile=a,fast=25%,socket=local", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "2",
     .predicted_gbs = -1, .reason = "dram (node 0), at most 21.0 GiB for each step, and all else from pmem (node 2)"},
    {"optane", "guided,profile=a,fast=4G", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "2-3", .predicted_gbs = -1,
     .reason = "at most 4.0 GiB"},
    {"optane", "guided,profile=a,fast=1T", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "2-3", .predicted_gbs = -1,
     .reason = "at most 168.0 GiB", .warning = "fast=: 1.0 TiB are more than dram (nodes 0-1) has: 168.0 GiB"},
    {"optane", "guided,migrate,fast=4G", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "2-3", .predicted_gbs = -1,
     .reason = "its nodes in turn; then the migrator keeps the job's hottest data in dram (nodes 0-1), at most 4.0 GiB "
               "of it."},
    {"optane", "guided,migrate", SHARED, .config = "migrate = \"fast=50%\"", .policy = HM_POLICY_INTERLEAVE,
     .nodes = "2-3", .predicted_gbs = -1, .reason = "comes from dram (nodes 0-1), at most 84.0 GiB for each step"},
    {"optane", "guided,fast=1T,fallback=migrate", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "2-3",
     .predicted_gbs = -1,
     .reason = "; a program that cannot be guided has its memory as with migrate, and there the migrator keeps the "
               "job's hottest data in dram (nodes 0-1), at most 1.0 TiB of it.",
     .warning = "fast=: 1.0 TiB are more than dram (nodes 0-1) has: 168.0 GiB"},
    {"optane", "guided,online,fast=4G", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1", .predicted_gbs = -1,
     .reason = "and the rest goes to pmem (nodes 2-3), nearest node first; once the program's allocation sites are "
               "known, those that are used most have dram (nodes 0-1), at most 4.0 GiB for each step."},
    {"optane", "guided,online", SHARED, .config = "migrate = \"fast=50%,source=faults\"",
     .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1", .predicted_gbs = -1,
     .reason = "have dram (nodes 0-1), at most 84.0 GiB for each step."},
    /* spill, shared channels */
    {"optane", "spill", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1", .predicted_gbs = -1,
     .reason = "dram (nodes 0-1) is filled first, its nodes in turn, and the rest goes to pmem (nodes 2-3), nearest "
               "node first."},
    {"optane", "spill", SHARED, .size_gib = 100, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1", .predicted_gbs = 204,
     .reason = "filled first"},
    {"optane", "spill", SHARED, .size_gib = 1024, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1",
     .predicted_gbs = 86.79, .reason = "filled first"},
    {"optane", "spill", SHARED, .size_gib = 4096, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1",
     .predicted_gbs = 80.03, .reason = "filled first",
     .warning = "4.0 TiB do not fit: both tiers together have 1.7 TiB"},
    {"optane", "spill,socket=local", SHARED, .policy = HM_POLICY_BIND, .nodes = "0,2", .predicted_gbs = -1,
     .reason = "dram (node 0) is filled first and the rest goes to pmem (node 2), which is further away."},
    {"optane", "spill,socket=remote", SHARED, .size_gib = 84, .policy = HM_POLICY_BIND, .nodes = "1,3",
     .predicted_gbs = 102, .reason = "dram (node 1)"},
    {"optane", "spill,socket=local", .cpus = "0,4", .kernel = "6.12", .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1",
     .predicted_gbs = -1, .reason = "filled first"},
    {"equal", "spill", SHARED, .policy = HM_POLICY_PREFERRED_MANY, .nodes = "0", .predicted_gbs = -1,
     .reason = "dram (node 0) is preferred, as distance alone would not fill it before pmem (node 1), and the rest "
               "goes to the nearest node with room."},
    {"equal", "spill", .cpus = "0", .kernel = "5.14", .policy = HM_POLICY_INTERLEAVE, .nodes = "0", .predicted_gbs = -1,
     .reason = "is preferred"},
    {"kmem", "spill", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1", .predicted_gbs = -1,
     .reason = "; 4.0 GiB of dram are kept in reserve for the kernel, which cannot use pmem."},
    {"kmem", "spill,socket=local", SHARED, .config = "reserve = 10%", .policy = HM_POLICY_BIND, .nodes = "0,2",
     .predicted_gbs = -1, .reason = "; 10.0 GiB of dram"},
    {"kmem", "spill", SHARED, .config = "reserve = 0%", .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1",
     .predicted_gbs = -1, .reason = "nearest node first."},
    {"three", "spill", SHARED, .config = "channels \"hbm+pmem\" { kind = shared }", .policy = HM_POLICY_INTERLEAVE,
     .nodes = "2-3", .predicted_gbs = -1, .reason = "hbm (nodes 2-3) is filled first",
     .warning = "of tier pmem or a tier between"},
    {"hbm", "spill,socket=local", SHARED, .config = "channels \"hbm+dram\" { kind = shared }",
     .policy = HM_POLICY_PREFERRED_MANY, .nodes = "2", .predicted_gbs = -1, .reason = "hbm (node 2) is preferred",
     .warning = "which may be on another socket"},
    {"one", "spill", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1", .predicted_gbs = 200,
     .reason = "only one tier", .warning = "no second tier"},
    {"hidden", "spill", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1", .predicted_gbs = -1,
     .reason = "only one tier", .warning = "no second tier"},
    /* spill, separate channels: the job's own weights */
    {"cxl", "spill", ALONE, .policy = HM_POLICY_WEIGHTED_INTERLEAVE, .nodes = "0-2", .weights = "0:3 1:3 2:2",
     .must_set = true, .predicted_gbs = 400,
     .reason = "The tiers have channels of their own, so 75% of the pages go to dram (nodes 0-1) and the rest to cxl "
               "(node 2), in the ratio of their bandwidths."},
    {"cxl", "spill,socket=local", ALONE, .policy = HM_POLICY_WEIGHTED_INTERLEAVE, .nodes = "0,2", .weights = "0:3 2:2",
     .must_set = true, .predicted_gbs = 250, .reason = "60%"},
    {"hbm", "spill", ALONE, .policy = HM_POLICY_WEIGHTED_INTERLEAVE, .nodes = "0-3", .weights = "0:1 1:1 2:3 3:3",
     .must_set = true, .predicted_gbs = 1600, .reason = "75%"},
    {"hbm", "spill", ALONE, .size_gib = 256, .policy = HM_POLICY_WEIGHTED_INTERLEAVE, .nodes = "0-3",
     .weights = "0:1 1:1 2:3 3:3", .must_set = true, .predicted_gbs = 800, .reason = "75%",
     .warning = "has room for 50% of the pages only"},
    {"hbm", "spill", ALONE, .size_gib = 64, .policy = HM_POLICY_WEIGHTED_INTERLEAVE, .nodes = "0-3",
     .weights = "0:1 1:1 2:3 3:3", .must_set = true, .predicted_gbs = 1600, .reason = "75%"},
    {"optane", "spill", ALONE, .config = "channels \"pmem+dram\" { kind = separate }",
     .policy = HM_POLICY_WEIGHTED_INTERLEAVE, .nodes = "0-3", .weights = "0:21 1:21 2:8 3:8", .must_set = true,
     .predicted_gbs = 281.71, .reason = "72%"},
    /* the system's weights: right as they are, near enough, wrong, incomplete */
    {"cxl", "spill", SHARED, .weights_now = "0:3 1:3 2:2", .policy = HM_POLICY_WEIGHTED_INTERLEAVE, .nodes = "0-2",
     .weights = "0:3 1:3 2:2", .predicted_gbs = 400, .reason = "75%"},
    {"cxl", "spill", ALONE, .weights_now = "0:150 1:152 2:100", .policy = HM_POLICY_WEIGHTED_INTERLEAVE, .nodes = "0-2",
     .weights = "0:150 1:152 2:100", .predicted_gbs = 399.3, .reason = "75%"},
    {"cxl", "spill", ALONE, .weights_now = "0:1 1:1 2:1", .policy = HM_POLICY_WEIGHTED_INTERLEAVE, .nodes = "0-2",
     .weights = "0:3 1:3 2:2", .must_set = true, .predicted_gbs = 400, .reason = "75%"},
    {"cxl", "spill", SHARED, .weights_now = "0:1 1:1 2:1", .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1",
     .predicted_gbs = -1, .reason = "not alone"},
    {"cxl", "spill", SHARED, .weights_now = "0:3 1:3", .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1",
     .predicted_gbs = -1, .reason = "not alone"},
    /* the job cannot set weights: the fast tier first, or all nodes evenly, whichever the model says is faster */
    {"cxl", "spill", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1", .predicted_gbs = -1,
     .reason = "As the interleave weights are the whole node's and this job is not alone on it, dram (nodes 0-1) is "
               "filled first"},
    {"cxl", "spill", .cpus = "0", .kernel = "6.8", .alone = true, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1",
     .predicted_gbs = -1,
     .reason = "As this kernel has no weighted interleave (Linux 6.9 has), dram (nodes 0-1) is filled first"},
    {"cxl", "spill", SHARED, .size_gib = 384, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1", .predicted_gbs = 300,
     .reason = "filled first"},
    {"cxl", "spill", SHARED, .size_gib = 200, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1", .predicted_gbs = 300,
     .reason = "filled first"},
    {"even", "spill", SHARED, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1", .predicted_gbs = 200,
     .reason = "pages alternate evenly over dram (node 0) and cxl (node 1), which is faster than filling the fast tier "
               "first."},
    {"even", "spill", .cpus = "0", .kernel = "5.10", .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1",
     .predicted_gbs = 200, .reason = "no weighted interleave"},
    /* the job can set weights: equal ones for tiers of equal bandwidth; none where a tier's bandwidth is not known */
    {"even", "spill", ALONE, .policy = HM_POLICY_WEIGHTED_INTERLEAVE, .nodes = "0-1", .weights = "0:1 1:1",
     .must_set = true, .predicted_gbs = 200, .reason = "50%"},
    {"cxl-unknown", "spill", ALONE, .policy = HM_POLICY_INTERLEAVE, .nodes = "0-1", .predicted_gbs = -1,
     .reason = "filled first",
     .warning = "the bandwidth of tier cxl is not known, so pages cannot be shared out by it: give read_bandwidth in "
                "hybridmem.conf"},
    /* shared channels, on a machine whose second socket has no memory */
    {"memoryless", "spill,socket=local", SHARED, .config = "channels \"dram+cxl\" { kind = shared }",
     .policy = HM_POLICY_BIND, .nodes = "0,2", .predicted_gbs = -1, .reason = "filled first"},
    {"memoryless", "spill,socket=remote", .cpus = "4", .kernel = "6.12",
     .config = "channels \"dram+cxl\" { kind = shared }", .policy = HM_POLICY_BIND, .nodes = "0,2", .predicted_gbs = -1,
     .reason = "filled first"},
};

static void test_plans(void **state)
{
    (void)state;
    planrow_check(rows, N_ROWS(rows));
}

static void test_refusals(void **state)
{
    static const struct {
        const char *shape, *request, *cpus, *said;
    } refusals[] = {
        {"optane", "hbm", "0", "there is no hbm memory: this node has dram (nodes 0-1), pmem (nodes 2-3)"},
        {"optane", "cxl", "0", "there is no cxl memory: this node has dram (nodes 0-1), pmem (nodes 2-3)"},
        {"unknown", "hbm", "0", "there is no hbm memory: this node has fast (nodes 0-1), slow (nodes 2-3)"},
        {"one", "pmem", "0", "there is no pmem memory: this node has dram (nodes 0-1)"},
        {"one", "slow", "0", "there is no second, slower tier: this node has dram (nodes 0-1)"},
        {"hidden", "cxl", "0", "there is no cxl memory: this node has dram (nodes 0-1); the job's cpuset hides node 2"},
        {"one", "migrate", "0",
         "nothing can be migrated: only dram (nodes 0-1) has memory that this job can have: this node has dram (nodes "
         "0-1)"},
        {"one", "isolate", "0",
         "nothing can be isolated: only dram (nodes 0-1) has memory that this job can have: this node has dram (nodes "
         "0-1)"},
        {"one", "guided,profile=a", "0",
         "nothing can be guided: only dram (nodes 0-1) has memory that this job can have: this node has dram (nodes "
         "0-1)"},
        {"optane", "guided,migrate,source=faults", "0",
         "source=faults does not see memory that is placed by site: use "
         "another source, as in source=auto"},
        {"cxl", "migrate,socket=remote", "0",
         "nothing can be migrated: only dram (node 1) has memory that this job can have: this node has dram (nodes "
         "0-1), cxl (node 2)"},
        {"hidden", "migrate,source=faults", "0",
         "nothing can be migrated: only dram (nodes 0-1) has memory that this job can have: this node has dram (nodes "
         "0-1); the job's cpuset hides node 2"},
        {"cxl", "slow,socket=remote", "0",
         "there is no slow memory on socket 1: this node has dram (nodes 0-1), cxl (node 2)"},
        {"cxl", "cxl,socket=local", "4-7",
         "there is no cxl memory on socket 1: this node has dram (nodes 0-1), cxl (node 2)"},
        {"even", "spill,socket=remote", "0",
         "the task's CPUs are on socket 0, and no other socket has memory: this node has dram (node 0), cxl (node 1)"},
        {"optane", "fast,socket=remote", "0-7",
         "the task's CPUs are on sockets 0-1, and no other socket has memory: this node has dram (nodes 0-1), pmem "
         "(nodes 2-3)"},
        {"memoryless", "fast,socket=local", "5",
         "the task's CPUs are on socket 1, which has no memory: this node has dram (node 0), cxl (node 2)"},
        {"memoryless", "fast,socket=remote", "1",
         "the task's CPUs are on socket 0, and no other socket has memory: this node has dram (node 0), cxl (node 2)"},
        {"optane", "spill,socket=local", "",
         "it cannot be told which socket the task's CPUs are on: this node has dram (nodes 0-1), pmem (nodes 2-3)"},
        {"optane", "spill,socket=remote", "900",
         "it cannot be told which socket the task's CPUs are on: this node has dram (nodes 0-1), pmem (nodes 2-3)"},
    };
    struct work *work = malloc(sizeof(*work));
    (void)state;
    assert_non_null(work);
    for (size_t i = 0; i < N_ROWS(refusals); i++) {
        struct row row = {refusals[i].shape, refusals[i].request, refusals[i].cpus, .kernel = "6.12"};
        char wanted[HM_ERROR_TEXT];
        snprintf(wanted, sizeof(wanted), "--hybrid-mem=%s: %s", refusals[i].request, refusals[i].said);
        assert_int_equal(planrow_resolve(work, &row), -1);
        assert_int_equal(errno, ENODEV);
        assert_string_equal(work->error.text, wanted);
    }
    free(work);
}

static void test_no_tier_at_all(void **state)
{
    struct work *work = calloc(1, sizeof(*work));
    (void)state;
    assert_non_null(work);
    assert_int_equal(hm_request_parse("spill", &work->request, NULL), 0);
    assert_int_equal(hm_plan_resolve(&work->request, &work->tiers, &work->config, &work->abilities, &work->where,
                                     &work->plan, &work->error),
                     -1);
    assert_int_equal(errno, ENODEV);
    assert_string_equal(work->error.text, "--hybrid-mem=spill: no memory of this node is usable by the job");
    free(work);
}

static void test_kernels(void **state)
{
    static const struct {
        const char *release;
        bool bind_balancing, preferred_many, weighted_interleave;
    } kernels[] = {
        {"4.18.0-553.el8", false, false, false},
        {"5.11.22", false, false, false},
        {"5.12", true, false, false},
        {"5.14.0", true, false, false},
        {"5.15", true, true, false},
        {"6.1.0-9-amd64", true, true, false},
        {"6.8.12", true, true, false},
        {"6.9-rc1", true, true, true},
        {"6.12.3-foo", true, true, true},
        {"7.0", true, true, true},
    };
    static const char *const wrong[] = {"", "6", "6.", ".1", "six", " 6.1", "-6.1", "6.-1", "6. 1", "v6.1"};
    struct hm_abilities abilities;
    (void)state;
    for (size_t i = 0; i < N_ROWS(kernels); i++) {
        memset(&abilities, 0xff, sizeof(abilities));
        assert_int_equal(hm_abilities_of_kernel(kernels[i].release, &abilities, NULL), 0);
        assert_int_equal(abilities.bind_balancing, kernels[i].bind_balancing);
        assert_int_equal(abilities.preferred_many, kernels[i].preferred_many);
        assert_int_equal(abilities.weighted_interleave, kernels[i].weighted_interleave);
        assert_false(abilities.alone || abilities.has_weights);
    }
    for (size_t i = 0; i < N_ROWS(wrong); i++) {
        struct hm_error error = {""};
        assert_int_equal(hm_abilities_of_kernel(wrong[i], &abilities, &error), -1);
        assert_int_equal(errno, EINVAL);
        assert_non_null(strstr(error.text, "is not a kernel's version: write it as in 6.12"));
    }
}

/* Two tiers with long names and many nodes: no buffer cuts a sentence before its end. */
static void test_long_names(void **state)
{
    struct work *work = malloc(sizeof(*work));
    struct row row = {"kmem", "migrate,fast=16000000T", "0", .kernel = "6.12", .size_gib = 100000};
    (void)state;
    assert_non_null(work);
    assert_int_equal(planrow_resolve(work, &row), 0);
    for (int i = 0; i < 2; i++) {
        memset(work->tiers.tier[i].name, 'a' + i, HM_NAME - 1);
        for (unsigned node = 200; node < 900; node += 3)
            hm_set_add(&work->tiers.tier[i].nodes, node);
    }
    struct hm_config *config = &work->config;
    snprintf(config->channels[0].fast, HM_NAME, "%s", work->tiers.tier[0].name);
    snprintf(config->channels[0].slow, HM_NAME, "%s", work->tiers.tier[1].name);
    config->channels[0].channels = HM_CHANNELS_SEPARATE;
    config->n_channels = 1;
    assert_int_equal(hm_plan_resolve(&work->request, &work->tiers, config, &work->abilities, &work->where, &work->plan,
                                     &work->error),
                     0);
    assert_int_equal(work->plan.reason[strlen(work->plan.reason) - 1], '.');
    assert_true(work->plan.n_warnings >= 2);
    for (int i = 0; i < work->plan.n_warnings; i++)
        assert_true(strlen(work->plan.warning[i]) < HM_WARNING - 1);
    free(work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),   cmocka_unit_test(test_refusals),   cmocka_unit_test(test_no_tier_at_all),
        cmocka_unit_test(test_kernels), cmocka_unit_test(test_long_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
