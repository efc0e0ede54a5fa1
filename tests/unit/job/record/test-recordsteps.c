/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what the record of a job has of its steps' migrators, and of programs that were guided or profiled. */
#include <stdio.h>
#include <string.h>

#include "recordfixture.h"
#include "slurm/stepname.h"
#include "unit/lib/rows.h"

static void plan_migrate(void)
{
    plan_spill();
    job.plan.request.mode = HM_MODE_MIGRATE;
    job.plan.migration.is_wanted = true;
    job.plan.migration.fast_nodes = tiers.tier[0].nodes;
    job.plan.migration.slow_nodes = tiers.tier[1].nodes;
}

/* The figures of a migrator that has ended. */
static struct hm_progress ended_step(void)
{
    struct hm_progress step;
    hm_progress_init(&step, 0);
    step.state = HM_PROGRESS_ENDED;
    memcpy(step.algorithm, "regions", 8);
    memcpy(step.hot_by, "accesses", 9);
    memcpy(step.source, "damon", 6);
    snprintf(step.source_why, sizeof(step.source_why), "perf: no PMU");
    step.period = 100000;
    step.period_is_time = 1;
    step.interval_ms = 2500;
    step.phases = 10;
    step.samples = 3000;
    step.promoted_bytes = 100 * MIB;
    step.demoted_bytes = 50 * MIB;
    step.unmoved_bytes[HM_UNMOVED_BUSY] = 4096;
    step.capacity_bytes = 600 * MIB;
    step.above_cap_bytes = 2 * MIB;
    step.first_above_cap_bytes = 100 * MIB;
    step.above_cap_s = 20;
    step.allowed_s = 0.125;
    step.advance_s = 0.0625;
    step.gain_s = 10;
    step.share_bytes = 400 * MIB;
    step.least_share_bytes = 300 * MIB;
    step.balance_phases = 8;
    step.balance_share = 0.75;
    step.fast_traffic = 150e9;
    step.slow_traffic = 50e9;
    snprintf(step.traffic_source, sizeof(step.traffic_source), "counters");
    step.cpu_s = 0.25;
    step.kernel_cpu_s = 0.5;
    step.fast_share = 0.5;
    step.best_share = 0.75;
    step.knows_heat = 1;
    step.heat[HM_MEMORY_PRIVATE] = 0.75;
    step.heat[HM_MEMORY_SHARED] = 0.25;
    step.stuck[HM_MEMORY_SHARED] = 0.125;
    step.first_ns = START;
    step.last_ns = START + 30 * SECOND;
    step.most_ranks = 4;
    return step;
}

/* Two steps that differ, the second one killed, and figures larger than the integers of JSON readers. */
static void test_migration(void **state)
{
    (void)state;
    struct hm_progress step = ended_step();
    plan_migrate();
    hm_migration_add(&job.migration, &step);
    step.step_id = HM_STEP_BATCH;
    step.state = HM_PROGRESS_RUNNING;
    memcpy(step.source, "faults", 7);
    step.samples = 1000;
    step.lost = UINT64_MAX;
    step.kernel_cpu_s = -1;
    step.fast_share = 0.9;
    step.heat[HM_MEMORY_PRIVATE] = 0.25;
    step.heat[HM_MEMORY_SHARED] = 0.75;
    step.least_share_bytes = 200 * MIB;
    step.balance_phases = 0;
    snprintf(step.balance_why, sizeof(step.balance_why), "no counters");
    step.best_share = 0.8; /* an estimate, below fast_share: the regret is 0, not negative */
    hm_migration_add(&job.migration, &step);
    job.n_warnings = 1;
    snprintf(job.warning[0], HM_WARNING, "the migrator of step batch was killed: its last figures are of some time");
    sample_at(0, 3 * MIB, MIB, 0);
    assert_golden("migrated", &tiers, &samples, "");
}

/* Before the first phase it is not known how much is above the cap. */
static void test_migration_before_its_first_phase(void **state)
{
    (void)state;
    struct hm_progress step = ended_step();
    step.phases = 0;
    plan_migrate();
    hm_migration_add(&job.migration, &step);
    json_t *record = hm_record_build(&config, &tiers, &job, &samples, "", START);
    const json_t *migration = json_object_get(record, "migration");
    assert_int_equal(json_integer_value(json_object_get(migration, "cap_bytes")), 600 * MIB);
    assert_true(json_is_null(json_object_get(migration, "above_cap_bytes")));
    assert_true(json_is_null(json_object_get(migration, "first_above_cap_bytes")));
    json_decref(record);
}

/* Figures of a migrator of an earlier version, which has no such times; and a gain that is next to nothing. */
static void test_migration_with_times_that_are_not_known(void **state)
{
    (void)state;
    static const char *const keys[] = {"above_cap_s", "allowed_cpu_s", "advance_cpu_s", "pays_from"};
    static const double gains_s[] = {-1, 1e-310};
    plan_migrate();
    for (size_t i = 0; i < N_ROWS(gains_s); i++) {
        struct hm_progress step = ended_step();
        step.above_cap_s = step.allowed_s = step.advance_s = -1;
        step.gain_s = gains_s[i];
        hm_migration_clear(&job.migration);
        hm_migration_add(&job.migration, &step);
        json_t *record = hm_record_build(&config, &tiers, &job, &samples, "", START);
        for (size_t k = 0; k < N_ROWS(keys); k++)
            assert_true(json_is_null(json_object_get(json_object_get(record, "migration"), keys[k])));
        json_decref(record);
    }
}

/* A guided task; then one whose program could not be guided. */
static void test_guided(void **state)
{
    (void)state;
    job.guided = (struct hm_guided){.is_known = true,
                                    .profile = "/home/a/app.json",
                                    .input = "large",
                                    .packer = "thermos",
                                    .fast_bytes = 10 * MIB,
                                    .limit_bytes = 16 * MIB,
                                    .expected_share = 0.75,
                                    .n_sites = HM_GUIDED_SITES + 1,
                                    .site = {0xa1}};
    json_t *record = hm_record_build(&config, &tiers, &job, NULL, "why", START);
    const json_t *guided = json_object_get(record, "guided"), *sites = json_object_get(guided, "sites");
    assert_string_equal(json_string_value(json_object_get(guided, "profile")), "/home/a/app.json");
    assert_string_equal(json_string_value(json_object_get(guided, "input")), "large");
    assert_int_equal(json_array_size(sites), HM_GUIDED_SITES);
    assert_string_equal(json_string_value(json_array_get(sites, 0)), "00000000000000a1");
    assert_int_equal(json_integer_value(json_object_get(guided, "site_count")), HM_GUIDED_SITES + 1);
    assert_int_equal(json_integer_value(json_object_get(guided, "fast_bytes")), 10 * MIB);
    assert_int_equal(json_integer_value(json_object_get(guided, "limit_bytes")), 16 * MIB);
    assert_float_equal(json_real_value(json_object_get(guided, "expected_share")), 0.75, 1e-9);
    assert_true(json_is_null(json_object_get(guided, "seen_share")));
    assert_string_equal(json_string_value(json_object_get(guided, "seen_source")),
                        "no migrator ran beside the step: guided,migrate starts one; counters do not tell it: why");
    assert_true(json_is_null(json_object_get(guided, "reason")));
    assert_true(json_is_null(json_object_get(guided, "stale")));
    json_decref(record);
    job.guided = (struct hm_guided){
        .is_known = true, .is_migrated = true, .stale_sites = 9, .stale_found = 7, .why = "it is static"};
    record = hm_record_build(&config, &tiers, &job, NULL, "why", START);
    guided = json_object_get(record, "guided");
    assert_true(json_is_null(json_object_get(guided, "input")));
    assert_true(json_is_null(json_object_get(guided, "fast_bytes")));
    assert_true(json_is_null(json_object_get(guided, "limit_bytes")));
    assert_true(json_is_null(json_object_get(guided, "expected_share")));
    assert_string_equal(json_string_value(json_object_get(guided, "reason")), "it is static");
    assert_string_equal(json_string_value(json_object_get(guided, "fallback")), "migrate");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(guided, "stale"), "sites")), 9);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(guided, "stale"), "found")), 7);
    json_decref(record);
}

/* The share that was seen is that of the guided step alone, and null where its samples do not tell it. */
static void test_seen_share(void **state)
{
    static const struct {
        uint32_t step_id;
        const char *hot_by;
        double share;
        const char *source;
    } rows[] = {
        {3, "accesses", 0.5, "estimate from 640 samples of damon by the step's migrator (self-reported)"},
        {3, "writes", 0.5, "the step's migrator counted writes alone; counters do not tell it: why"},
        {3, "accesses", -1, "the samples of the step's migrator do not tell it; counters do not tell it: why"},
        {2, "accesses", 0.5,
         "no migrator ran beside the step: guided,migrate starts one; counters do not tell it: why"},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_progress step;
        hm_progress_init(&step, rows[i].step_id);
        step.state = HM_PROGRESS_ENDED;
        step.samples = 640;
        step.fast_share = rows[i].share;
        snprintf(step.hot_by, sizeof(step.hot_by), "%s", rows[i].hot_by);
        snprintf(step.source, sizeof(step.source), "damon");
        hm_migration_clear(&job.migration);
        hm_migration_add(&job.migration, &step);
        job.guided = (struct hm_guided){.is_known = true, .step_id = 3, .expected_share = 0.75};
        json_t *record = hm_record_build(&config, &tiers, &job, NULL, "why", START);
        const json_t *guided = json_object_get(record, "guided"), *seen = json_object_get(guided, "seen_share");
        assert_string_equal(json_string_value(json_object_get(guided, "seen_source")), rows[i].source);
        assert_int_equal(json_is_real(seen), i == 0);
        assert_float_equal(json_real_value(seen), i == 0 ? 0.5 : 0, 1e-9);
        json_decref(record);
    }
    job.migration.n_steps = HM_MIGRATION_STEPS + 1;
    json_t *record = hm_record_build(&config, &tiers, &job, NULL, "why", START);
    const char *source = json_string_value(json_object_get(json_object_get(record, "guided"), "seen_source"));
    assert_non_null(strstr(source, "only the migrators of the first 16 steps have figures of their own; counters"));
    json_decref(record);
}

/* A step that has left a profile; then one that has not. */
static void test_profile(void **state)
{
    (void)state;
    job.profiled =
        (struct hm_profiled){.is_known = true, .file = "/home/a/7.0.json", .period = 8192, .unrated = "too fine"};
    json_t *record = hm_record_build(&config, &tiers, &job, NULL, "why", START);
    const json_t *profile = json_object_get(record, "profile");
    assert_string_equal(json_string_value(json_object_get(profile, "file")), "/home/a/7.0.json");
    assert_string_equal(json_string_value(json_object_get(profile, "method")), "sample");
    assert_true(json_is_null(json_object_get(profile, "reason")));
    assert_int_equal(json_integer_value(json_object_get(profile, "period")), 8192);
    assert_string_equal(json_string_value(json_object_get(profile, "rate_reason")), "too fine");
    assert_true(json_is_null(json_object_get(profile, "unsampled")));
    json_decref(record);
    job.profiled = (struct hm_profiled){.is_known = true, .why = "no space", .unsampled = "no perf"};
    record = hm_record_build(&config, &tiers, &job, NULL, "why", START);
    profile = json_object_get(record, "profile");
    assert_true(json_is_null(json_object_get(profile, "file")));
    assert_string_equal(json_string_value(json_object_get(profile, "reason")), "no space");
    assert_string_equal(json_string_value(json_object_get(profile, "unsampled")), "no perf");
    assert_true(json_is_null(json_object_get(profile, "period")));
    assert_true(json_is_null(json_object_get(profile, "rate_reason")));
    json_decref(record);
}

/* A migrator was asked for and left no figures; then one that never began. */
static void test_migration_without_figures(void **state)
{
    (void)state;
    plan_spill();
    job.plan.migration.is_wanted = true;
    json_t *record = hm_record_build(&config, &tiers, &job, NULL, "why", START);
    const json_t *migration = json_object_get(record, "migration");
    assert_string_equal(json_string_value(json_object_get(migration, "source")),
                        "a migrator was asked for, and left no figures on this node");
    assert_true(json_is_null(json_object_get(migration, "promoted_bytes")));
    json_decref(record);
    struct hm_progress step;
    hm_progress_init(&step, 3);
    hm_migration_add(&job.migration, &step);
    record = hm_record_build(&config, &tiers, &job, NULL, "why", START);
    migration = json_object_get(record, "migration");
    assert_string_equal(json_string_value(json_object_get(migration, "source")), "no migrator began on this node");
    assert_true(json_is_null(json_object_get(migration, "phases")));
    const json_t *first = json_array_get(json_object_get(migration, "steps"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "end")), "not begun");
    assert_true(json_is_null(json_object_get(first, "cpu_s")));
    json_decref(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_migration, set_up),
        cmocka_unit_test_setup(test_migration_before_its_first_phase, set_up),
        cmocka_unit_test_setup(test_migration_with_times_that_are_not_known, set_up),
        cmocka_unit_test_setup(test_migration_without_figures, set_up),
        cmocka_unit_test_setup(test_guided, set_up),
        cmocka_unit_test_setup(test_seen_share, set_up),
        cmocka_unit_test_setup(test_profile, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
