/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what a step looks at for its plan, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/heldlock.h"
#include "core/apply/policy.h"
#include "core/tiers/node.h"
#include "job/node/changes.h"
#include "slurm/scontrol.h"
#include "stepfixture.h"
#include "unit/lib/machines.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static uint8_t weights_first[HM_MAX_NODES], weights_now[HM_MAX_NODES];
static unsigned n_looks, n_asked, n_weights;
static uint64_t cache_bytes; /* the cache in front of the node's first memory */

int __wrap_hm_nodetiers_read(const struct hm_config *settings, struct hm_tiers *tiers, struct hm_error *why);
int __wrap_hm_abilities_read(const struct hm_tiers *tiers, struct hm_abilities *abilities, struct hm_error *why);
void __wrap_hm_abilities_read_weights(const struct hm_tiers *tiers, struct hm_abilities *abilities);
int __wrap_hm_scontrol_usable(const char *node, unsigned *cores, struct hm_error *why);
int __wrap_hm_changes_apply(const struct hm_config *settings, struct hm_job *job, const struct hm_wanted *wanted,
                            int count, struct hm_error *why);

int __wrap_hm_nodetiers_read(const struct hm_config *settings, struct hm_tiers *tiers, struct hm_error *why)
{
    (void)settings;
    machine_make("cxl", tiers);
    tiers->topology.node[0].side_cache_bytes = cache_bytes;
    return hm_set_parse(&tiers->topology.allowed_cpus, "0-7", why);
}

int __wrap_hm_abilities_read(const struct hm_tiers *tiers, struct hm_abilities *abilities, struct hm_error *why)
{
    (void)tiers;
    assert_int_equal(hm_heldlock_check("a look at the node", NULL), 0);
    n_looks++;
    int result = hm_abilities_of_kernel("6.12", abilities, why);
    abilities->has_weights = true;
    memcpy(abilities->weights, weights_first, sizeof(weights_first));
    return result;
}

void __wrap_hm_abilities_read_weights(const struct hm_tiers *tiers, struct hm_abilities *abilities)
{
    (void)tiers;
    memcpy(abilities->weights, weights_now, sizeof(weights_now));
}

int __wrap_hm_scontrol_usable(const char *node, unsigned *cores, struct hm_error *why)
{
    (void)node, (void)why;
    assert_int_equal(hm_heldlock_check("a look at the node", NULL), 0);
    n_asked++;
    *cores = 8;
    return 0;
}

int __wrap_hm_changes_apply(const struct hm_config *settings, struct hm_job *of, const struct hm_wanted *wanted,
                            int count, struct hm_error *why)
{
    (void)settings, (void)of, (void)why;
    for (int i = 0; i < count; i++) {
        unsigned node;
        const char *file = strstr(wanted[i].path, "/weighted_interleave/node");
        if (!file || sscanf(file, "/weighted_interleave/node%u", &node) != 1 || node >= N_ROWS(weights_now))
            continue;
        weights_now[node] = (uint8_t)strtoul(wanted[i].value, NULL, 10);
        n_weights++;
    }
    return 0;
}

/* Only a step with a plan needs to know more of the node than its tiers. Only one that may have weights needs to know
 * how many cores jobs can have there. */
static void test_the_node_is_looked_at_without_the_lock(void **state)
{
    static const struct {
        const char *request, *option;
        uint32_t step_id;
        bool has_entry;
        unsigned n_looks, n_asked;
    } rows[] = {{"spill", NULL, 0, true, 1, 1},  {"spill", "off", 0, true, 1, 1},
                {"", "spill", 0, true, 1, 1},    {"", "spill", 0, false, 1, 0},
                {"", NULL, 0, true, 0, 0},       {"", NULL, 0, false, 0, 0},
                {"", "off", 0, true, 0, 0},      {"fsdax", NULL, 0, true, 0, 0},
                {"memory", NULL, 0, true, 1, 0}, {"spill", NULL, HM_STEP_EXTERN, true, 0, 0}};
    (void)state;
    step_configure("");
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        step_begin(rows[i].request, false);
        if (!rows[i].has_entry)
            assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
        struct hm_step_facts facts = step_facts_of(rows[i].option);
        facts.step_id = rows[i].step_id;
        n_looks = n_asked = 0;
        free(step_prepare_facts(&facts, 0));
        assert_true(n_looks == rows[i].n_looks && n_asked == rows[i].n_asked);
        if (rows[i].has_entry) /* the next job with this number begins */
            assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
        free(step_prepare_facts(&facts, 0)); /* Slurm is asked once for a node */
        assert_true(n_looks == 2 * rows[i].n_looks && n_asked == rows[i].n_asked);
    }
}

/* The weights may change before the step has the ledger's lock. A job that is not alone on the node uses the weights
 * that are set when the step has it, and never sets others. */
static void test_weights_that_change_before_the_lock(void **state)
{
    static const struct {
        uint8_t first[3], now[3];
        const char *cores; /* of the job; the node has 0-7 */
        unsigned n_weights;
    } rows[] = {{{3, 3, 2}, {3, 3, 2}, "0-3", 3},
                {{3, 3, 2}, {1, 1, 1}, "0-3", 0},
                {{1, 1, 1}, {1, 1, 1}, "0-3", 0},
                {{1, 1, 1}, {1, 1, 1}, "0-7", 3},
                {{3, 3, 2}, {1, 1, 1}, "0-7", 3}};
    (void)state;
    step_configure("");
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        step_begin("spill", false);
        memcpy(weights_first, rows[i].first, sizeof(rows[i].first));
        memcpy(weights_now, rows[i].now, sizeof(rows[i].now));
        struct hm_step_facts facts = step_facts_of(NULL);
        facts.cores = rows[i].cores;
        n_weights = 0;
        struct hm_step *step = step_prepare_facts(&facts, 0);
        assert_int_equal(n_weights, rows[i].n_weights);
        assert_false(step->abilities.alone);
        if (n_weights > 0)
            assert_memory_equal(step->abilities.weights, weights_now, sizeof(weights_now));
        free(step);
    }
}

/* A step of the mode memory is refused where nothing is a cache. Its tasks are not placed, so the plan of the entry is
 * the one that root made. */
static void test_a_cache_in_front_of_memory(void **state)
{
    (void)state;
    step_configure("");
    for (int is_cached = 0; is_cached < 2; is_cached++) {
        step_begin("memory", false);
        cache_bytes = is_cached ? 4096 : 0;
        struct hm_step *step = step_prepare(NULL);
        assert_int_equal(strstr(step->refusal, "by the constraint memmode=cache") != NULL, !is_cached);
        assert_int_equal(job.has_plan, is_cached);
        assert_int_equal(job.plan.side_cache_bytes, cache_bytes);
        free(step);
    }
}

/* The node's cache needs no configuration: a step has its mode where that has become wrong, and no warning denies it.
 * Another mode is left out. */
static void test_a_cache_where_the_configuration_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        uint64_t cache_bytes;
        bool is_active;
    } rows[] = {{"memory", 4096, true}, {"memory", 0, false}, {"spill", 0, false}};
    step_configure("record = some");
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        step_begin(rows[i].request, false);
        cache_bytes = rows[i].cache_bytes;
        struct hm_step_facts facts = step_facts_of(NULL);
        struct hm_step *step = step_prepare_facts(&facts, -1);
        assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
        if (step->is_active != rows[i].is_active || step->refusal[0] || job.has_plan != rows[i].is_active ||
            step_has_warning("step 0 runs without its mode: ") == rows[i].is_active)
            fail_msg("row %zu: active %d, refusal \"%s\"", i, step->is_active, step->refusal);
        free(step);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_node_is_looked_at_without_the_lock),
        cmocka_unit_test(test_weights_that_change_before_the_lock),
        cmocka_unit_test(test_a_cache_in_front_of_memory),
        cmocka_unit_test(test_a_cache_where_the_configuration_is_wrong),
    };
    return cmocka_run_group_tests(tests, step_set_up, scratch_drop);
}
