/* SPDX-License-Identifier: Apache-2.0 */
/* Tests a step's migrator from slurmstepd's side: its command line, and the sums over several migrators. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job/ledger/figurefile.h"
#include "job/programs/migrator.h"
#include "job/step/step.h"
#include "migrator/decide/decide.h"
#include "unit/lib/rows.h"

static struct hm_error error;

static struct hm_plan_migration plan_of(void)
{
    struct hm_plan_migration plan = {.is_wanted = true,
                                     .keys = {.interval_ms = 2500,
                                              .overhead_percent = 0.5,
                                              .algorithm = HM_ALGORITHM_BINS,
                                              .source = "damon",
                                              .hot_by = HM_HOT_BY_WRITES}};
    assert_int_equal(hm_set_parse(&plan.fast_nodes, "0-1", NULL), 0);
    assert_int_equal(hm_set_parse(&plan.slow_nodes, "2,5", NULL), 0);
    return plan;
}

static const char *join(const struct hm_migrator_command *command)
{
    static char line[4096];
    line[0] = '\0';
    for (int i = 0; i < command->count; i++)
        snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%s", i ? " " : "", command->word[i]);
    assert_null(command->word[command->count]);
    return line;
}

#define PLAIN                                                                                                          \
    "hybridmem-migrator --cgroup /c/step_0/user --guard /c/step_0/user/cgroup.events --progress-fd 3 --uid 1001 "      \
    "--gid 0 --job 7 --step 4294967291 --fast-nodes 0-1 --slow-nodes 2,5 --algorithm bins --source damon "             \
    "--hot-by writes --interval 2500ms --overhead 0.5%"

static void test_command_line(void **state)
{
    (void)state;
    struct hm_plan_migration plan = plan_of();
    struct hm_migrator_facts facts = {
        .plan = &plan, .job_id = 7, .step_id = HM_STEP_BATCH, .uid = 1001, .step_cgroup = "/c/step_0"};
    struct hm_migrator_command command;
    struct hm_set shared = {0};
    assert_int_equal(hm_migrator_command(&facts, &command, &error), 0);
    assert_string_equal(join(&command), PLAIN);
    plan.cap_bytes = 1 << 30;
    plan.read_latency = 2.5;
    plan.write_latency = 5;
    plan.keys.bins = 1000;
    plan.keys.period = 65536;
    plan.keys.rate_bytes = 200 << 20;
    facts.reserve_bytes = 4096;
    facts.end_s = 1795259395;
    facts.broker = "/run/broker";
    facts.shares = "/run/shares";
    facts.shared_nodes = &shared;
    hm_set_add(&shared, 0);
    hm_set_add(&shared, 7);
    plan.balance.curves = HM_CURVES_TIERS;
    plan.balance.peaks = (struct hm_load_peaks){HM_CHANNELS_SEPARATE, 80, 213, 300, 79.9};
    facts.traffic = "/run/7.samples";
    facts.load = "/etc/tiers.load";
    assert_int_equal(hm_migrator_command(&facts, &command, &error), 0);
    assert_string_equal(join(&command),
                        PLAIN " --cap 1073741824 --reserve 4096 --bins 1000 --period 65536 --rate 209715200 "
                              "--end 1795259395 --lat-read 2.5 --lat-write 5 --peaks channels separate\nfast idle 80ns "
                              "peak 213GB/s\nslow idle 300ns peak 79.9GB/s --traffic /run/7.samples --broker "
                              "/run/broker --shares /run/shares --shared-nodes 0,7");
    plan.balance.curves = HM_CURVES_FILE;
    assert_int_equal(hm_migrator_command(&facts, &command, &error), 0);
    assert_non_null(strstr(join(&command), " --load /etc/tiers.load --traffic /run/7.samples --broker "));
    plan.n_middle = 3;
    hm_set_add(&plan.middle[0].nodes, 3);
    plan.middle[1] = (struct hm_plan_middle){.read_latency = 1.5, .write_latency = 2};
    hm_set_add(&plan.middle[1].nodes, 4);
    hm_set_add(&plan.middle[1].nodes, 6);
    plan.middle[2].read_latency = 1.75;
    hm_set_add(&plan.middle[2].nodes, 7);
    assert_int_equal(hm_migrator_command(&facts, &command, &error), 0);
    assert_non_null(strstr(join(&command),
                           " --fast-nodes 0-1 --middle-tier 3 --middle-tier 4,6:1.5:2 --middle-tier 7:1.75 "
                           "--slow-nodes 2,5 "));
    char longest[HM_JOB_CGROUP * 2];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    facts.step_cgroup = longest;
    assert_int_equal(hm_migrator_command(&facts, &command, &error), -1);
    assert_int_equal(errno, E2BIG);
}

/* The option's algorithms are exactly those of the decision code. */
static void test_algorithms_are_known(void **state)
{
    (void)state;
    const char *name, *about;
    int count = 0;
    for (; hm_algorithm_at(count, &name, &about); count++) {
        bool is_known = false;
        for (int i = HM_ALGORITHM_REGIONS; hm_algorithm_name((enum hm_algorithm)i); i++)
            is_known = is_known || strcmp(hm_algorithm_name((enum hm_algorithm)i), name) == 0;
        assert_true(is_known);
    }
    assert_null(hm_algorithm_name((enum hm_algorithm)(HM_ALGORITHM_REGIONS + count)));
}

static void test_names_of_files(void **state)
{
    (void)state;
    static const char *const no_files[] = {"",
                                           "7",
                                           "7.migration",
                                           ".0.migration",
                                           "7..migration",
                                           "7.0.migrations",
                                           "7.0.1.migration",
                                           "7.0.samples",
                                           "-7.0.migration",
                                           "7.4294967296.migration",
                                           "7.0.migration.draft"};
    char name[64];
    uint32_t job_id, step_id;
    assert_string_equal(hm_figurefile_name(7, HM_STEP_BATCH, name, sizeof(name)), "7.4294967291.migration");
    assert_true(hm_figurefile_is_name(name, &job_id, &step_id));
    assert_int_equal(job_id, 7);
    assert_int_equal(step_id, HM_STEP_BATCH);
    for (size_t i = 0; i < N_ROWS(no_files); i++)
        assert_false(hm_figurefile_is_name(no_files[i], &job_id, &step_id));
}

/* More steps than are kept one by one, and sums that reach their limit. */
static void test_many_steps(void **state)
{
    (void)state;
    struct hm_migration *migration = calloc(1, sizeof(*migration));
    struct hm_progress step;
    assert_non_null(migration);
    hm_progress_init(&step, 0);
    step.state = HM_PROGRESS_ENDED;
    step.samples = UINT64_MAX / 2;
    step.fast_share = step.best_share = 0.5;
    step.promoted_bytes = 10;
    for (uint32_t i = 0; i < 3 * HM_MIGRATION_STEPS; i++) {
        step.step_id = i;
        hm_migration_add(migration, &step);
        assert_int_equal(hm_fields_check(hm_migration_table, migration, NULL), 0);
    }
    assert_int_equal(migration->n_steps, 3 * HM_MIGRATION_STEPS);
    assert_int_equal(migration->step[HM_MIGRATION_STEPS - 1].step_id, HM_MIGRATION_STEPS - 1);
    assert_int_equal(migration->total.promoted_bytes, 30 * HM_MIGRATION_STEPS);
    assert_true(migration->total.samples == UINT64_MAX);
    assert_float_equal(migration->total.fast_share, 0.5, 1e-9);
    migration->step[2].state = 77;
    assert_int_equal(hm_fields_check(hm_migration_table, migration, &error), -1);
    assert_string_equal(error.text, "step.2.state is out of range");
    migration->n_steps = UINT32_MAX; /* only the array's elements are read; one of them is still wrong */
    assert_int_equal(hm_fields_check(hm_migration_table, migration, NULL), -1);
    free(migration);
}

/* A mean over some of the steps stands for the job only if these have nearly all samples. */
static void test_steps_whose_shares_are_not_known(void **state)
{
    (void)state;
    static const struct {
        uint64_t samples[2];
        double fast[2], best[2]; /* negative: not known */
        bool is_known;
        double all_fast, all_best;
    } rows[] = {
        {{300, 100}, {0.5, 0.9}, {0.6, 1}, true, 0.6, 0.7},    {{900, 100}, {0.5, -1}, {0.6, -1}, true, 0.5, 0.6},
        {{899, 101}, {0.5, -1}, {0.6, -1}, false, 0.5, 0.6},   {{100, 900}, {-1, 0.5}, {0.9, 0.6}, true, 0.5, 0.6},
        {{300, 100}, {0.01, 0.01}, {-1, 0.6}, true, 0.01, -1}, {{100, 300}, {0.01, 0.01}, {0.6, -1}, true, 0.01, -1},
        {{300, 100}, {-1, -1}, {0.9, 0.9}, false, -1, -1},     {{0, 0}, {-1, -1}, {-1, -1}, false, -1, -1},
    };
    struct hm_migration *migration = calloc(1, sizeof(*migration));
    assert_non_null(migration);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        hm_migration_clear(migration);
        for (uint32_t k = 0; k < 2; k++) {
            struct hm_progress step;
            hm_progress_init(&step, k);
            step.state = HM_PROGRESS_ENDED;
            step.samples = rows[i].samples[k];
            step.fast_share = rows[i].fast[k];
            step.best_share = rows[i].best[k];
            hm_migration_add(migration, &step);
        }
        assert_int_equal(hm_migration_knows_shares(migration), rows[i].is_known);
        assert_float_equal(migration->total.fast_share, rows[i].all_fast, 1e-9);
        assert_float_equal(migration->total.best_share, rows[i].all_best, 1e-9);
    }
    free(migration);
}

/* In either order, the total's source is that of the steps that had one, and "" if these had different ones. If no step
 * had one, the total has none. */
static void test_steps_that_had_nothing_to_move(void **state)
{
    (void)state;
    static const char *const orders[][3] = {{HM_PROGRESS_NO_SOURCE, "damon", "damon"},
                                            {"damon", HM_PROGRESS_NO_SOURCE, "damon"},
                                            {"damon", "faults", ""},
                                            {HM_PROGRESS_NO_SOURCE, HM_PROGRESS_NO_SOURCE, HM_PROGRESS_NO_SOURCE}};
    struct hm_migration *migration = calloc(1, sizeof(*migration));
    assert_non_null(migration);
    for (size_t i = 0; i < N_ROWS(orders); i++) {
        memset(migration, 0, sizeof(*migration));
        for (size_t k = 0; k < 2; k++) {
            struct hm_progress step;
            bool has_source = strcmp(orders[i][k], HM_PROGRESS_NO_SOURCE) != 0;
            hm_progress_init(&step, (uint32_t)k);
            step.state = HM_PROGRESS_ENDED;
            step.period = has_source ? 100000 : 0;
            step.kernel_cpu_s = has_source ? 2 : 0;
            hm_progress_text(step.source, sizeof(step.source), orders[i][k]);
            hm_migration_add(migration, &step);
        }
        assert_string_equal(migration->total.source, orders[i][2]);
        assert_int_equal(migration->total.period, i < 3 ? 100000 : 0);
        assert_float_equal(migration->total.kernel_cpu_s, i < 2 ? 2 : i == 2 ? 4 : 0, 1e-9);
    }
    free(migration);
}

/* What one of the steps does not know, as its migrator was of an earlier version, is not known of the job. */
static void test_times_that_one_step_does_not_know(void **state)
{
    (void)state;
    struct hm_migration *migration = calloc(1, sizeof(*migration));
    assert_non_null(migration);
    for (uint32_t knows = 0; knows < 4; knows++) {
        hm_migration_clear(migration);
        for (uint32_t k = 0; k < 2; k++) {
            struct hm_progress step;
            hm_progress_init(&step, k);
            step.state = HM_PROGRESS_ENDED;
            if (knows & (1u << k)) {
                step.above_cap_s = 10 + k;
                step.kernel_cpu_s = step.allowed_s = step.advance_s = step.gain_s = 1 + k;
            }
            hm_migration_add(migration, &step);
        }
        const struct hm_progress *total = &migration->total;
        const double sums[] = {total->kernel_cpu_s, total->allowed_s, total->advance_s, total->gain_s};
        for (size_t i = 0; i < N_ROWS(sums); i++)
            assert_float_equal(sums[i], knows == 3 ? 3 : -1, 1e-9);
        assert_float_equal(total->above_cap_s, knows == 3 ? 11 : -1, 1e-9);
    }
    free(migration);
}

/* The total has the least share of all steps; one that shared the tier with nobody does not count. */
static void test_the_least_share(void **state)
{
    (void)state;
    static const struct {
        uint64_t shares[3], least;
    } rows[] = {{{0, 0, 0}, 0}, {{0, 300, 200}, 200}, {{200, 0, 300}, 200}, {{300, 200, 0}, 200}};
    struct hm_migration *migration = calloc(1, sizeof(*migration));
    assert_non_null(migration);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        hm_migration_clear(migration);
        for (uint32_t k = 0; k < 3; k++) {
            struct hm_progress step;
            hm_progress_init(&step, k);
            step.state = HM_PROGRESS_ENDED;
            step.least_share_bytes = rows[i].shares[k];
            hm_migration_add(migration, &step);
        }
        assert_int_equal(migration->total.least_share_bytes, rows[i].least);
    }
    free(migration);
}

/* The total has the means over the phases whose traffic was known; a step without any does not count. */
static void test_the_balance_of_several_steps(void **state)
{
    (void)state;
    struct hm_migration *migration = calloc(1, sizeof(*migration));
    const struct hm_progress *total = &migration->total;
    assert_non_null(migration);
    hm_migration_clear(migration);
    for (uint32_t k = 0; k < 3; k++) {
        struct hm_progress step;
        hm_progress_init(&step, k);
        step.state = HM_PROGRESS_ENDED;
        step.balance_phases = k;
        step.balance_share = k == 1 ? 1 : 0.7;
        step.fast_traffic = k == 1 ? 1e9 : 4e9;
        step.slow_traffic = 2e9;
        snprintf(step.traffic_source, sizeof(step.traffic_source), "%s", k > 0 ? "counters" : "");
        snprintf(step.balance_why, sizeof(step.balance_why), "%s", k > 0 ? "" : "nothing is known");
        hm_migration_add(migration, &step);
        assert_string_equal(total->balance_why, k > 0 ? "" : "nothing is known");
    }
    assert_int_equal(total->balance_phases, 3);
    assert_float_equal(total->balance_share, 0.8, 1e-9);
    assert_float_equal(total->fast_traffic, 3e9, 1);
    assert_float_equal(total->slow_traffic, 2e9, 1);
    assert_string_equal(total->traffic_source, "counters");
    free(migration);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_command_line),
        cmocka_unit_test(test_algorithms_are_known),
        cmocka_unit_test(test_names_of_files),
        cmocka_unit_test(test_many_steps),
        cmocka_unit_test(test_the_balance_of_several_steps),
        cmocka_unit_test(test_the_least_share),
        cmocka_unit_test(test_steps_that_had_nothing_to_move),
        cmocka_unit_test(test_times_that_one_step_does_not_know),
        cmocka_unit_test(test_steps_whose_shares_are_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
