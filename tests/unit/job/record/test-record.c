/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the record of a job, except for its metered figures (test-recordmetered.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recordfixture.h"
#include "slurm/stepname.h"
#include "unit/lib/rows.h"

static void test_whole_record(void **state)
{
    (void)state;
    job.array_job_id = 40;
    job.array_task_id = 2;
    job.step[job.n_steps++] = 0;
    job.step[job.n_steps++] = 17;
    job.exit_status = 7 << 8;
    plan_spill();
    job.plan.n_warnings = 1;
    snprintf(job.plan.warning[0], HM_WARNING, "from the plan");
    job.n_warnings = 1;
    snprintf(job.warning[0], HM_WARNING, "from the job");
    samples.has_hugetlb = 1;
    for (unsigned i = 0; i < 6; i++)
        sample_at(i, i * 100 * MIB, i == 4 ? 150 * MIB : 0, i == 5 ? 0 : 50 * MIB);
    assert_golden("whole", &tiers, &samples, "");
}

static void test_weights_by_node(void **state)
{
    (void)state;
    plan_spill();
    tiers.topology.node[3].id = 8; /* node numbers need not be consecutive */
    hm_set_remove(&tiers.tier[1].nodes, 3);
    hm_set_add(&tiers.tier[1].nodes, 8);
    samples.tier_nodes[1] = tiers.tier[1].nodes;
    job.plan.policy = HM_POLICY_WEIGHTED_INTERLEAVE;
    job.plan.has_weights = true;
    hm_set_union(&job.plan.nodes, &tiers.tier[1].nodes);
    memcpy(job.plan.weights, (uint8_t[]){3, 3, 1, 1}, 4);
    job.exit_status = 9; /* killed */
    sample_at(0, 3 * MIB, MIB, 0);
    assert_golden("weighted", &tiers, &samples, "");
}

static void test_nothing_known(void **state)
{
    (void)state;
    job = (struct hm_job){.job_id = 43, .array_job_id = HM_NO_ID, .array_task_id = HM_NO_ID, .het_job_id = 41};
    snprintf(job.node, sizeof(job.node), "n1");
    snprintf(job.account, sizeof(job.account), "caf\xe9\n");
    memset(job.partition, 'p', sizeof(job.partition)); /* not terminated */
    snprintf(job.user, sizeof(job.user), "gr\xc3\xb6\xc3\x9f");
    snprintf(job.request, sizeof(job.request), "slow");
    snprintf(job.refusal, sizeof(job.refusal), "mode slow is not allowed here");
    assert_golden("nothing", NULL, NULL, "no monitor ran on this node");
}

static void test_a_request_that_was_never_valid(void **state)
{
    (void)state;
    static const char *const texts[] = {"=cmd|' /C calc'!A0", "a\x1b[2J", "spil", "spill,size=1G", ","};
    for (size_t i = 0; i < N_ROWS(texts); i++) {
        job = (struct hm_job){.job_id = 43};
        snprintf(job.request, sizeof(job.request), "%s", texts[i]);
        json_t *record = hm_record_build(&config, &tiers, &job, NULL, "", 1);
        assert_string_equal(json_string_value(json_object_get(record, "request")), "invalid");
        json_decref(record);
    }
}

static void test_tiers_without_samples(void **state)
{
    (void)state;
    snprintf(config.cluster, sizeof(config.cluster), "configured");
    job.request[0] = '\0';
    assert_golden("unsampled", &tiers, NULL, "the samples file is gone");
}

static void test_killed_monitor(void **state)
{
    (void)state;
    plan_spill();
    /* today's tier has other nodes than the measured one: its capacity is not the measured tier's */
    hm_set_add(&tiers.tier[1].nodes, 9);
    samples.finished = 0;
    samples.peak_source = HM_PEAK_NONE;
    samples.memory_peak = 0;
    snprintf(samples.missing, sizeof(samples.missing), "memory.peak of the job's cgroup: Permission denied");
    sample_at(2, 10 * MIB, 0, 0);
    sample_at(5, 20 * MIB, UINT64_MAX, 0); /* two ticks without a sample; then a number beyond JSON's integers */
    assert_golden("killed", &tiers, &samples, "");
}

static void test_monitor_without_a_sample(void **state)
{
    (void)state;
    samples.peak_source = HM_PEAK_SAMPLED;
    snprintf(samples.missing, sizeof(samples.missing),
             "memory.numa_stat of the job's cgroup: No such file or directory");
    assert_golden("controller", &tiers, &samples, "");
}

static void test_exit_codes(void **state)
{
    (void)state;
    static const struct {
        bool known;
        int32_t status;
        int code; /* -1: null */
    } rows[] = {{false, 0, -1},  {true, 0, 0},      {true, 1 << 8, 1}, {true, 255 << 8, 255},
                {true, 15, 143}, {true, 0x8b, 139}, {true, 0x7f, -1}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        job.has_exit_status = rows[i].known;
        job.exit_status = rows[i].status;
        json_t *record = hm_record_build(&config, &tiers, &job, NULL, "why", START);
        const json_t *code = json_object_get(record, "exit_code");
        if (rows[i].code < 0)
            assert_true(json_is_null(code));
        else
            assert_int_equal(json_integer_value(code), rows[i].code);
        assert_true(json_is_null(json_object_get(record, "elapsed_s"))); /* it ended before it started */
        json_decref(record);
    }
}

/* slurmstepd reads the peak again at the end of a step, as a job may grow between two samples. */
static void test_the_larger_peak_counts(void **state)
{
    (void)state;
    static const struct {
        uint64_t of_stepd;
        bool has_samples;
        json_int_t then; /* 0: null */
    } rows[] = {{0, true, 700 * MIB},
                {600 * MIB, true, 700 * MIB},
                {800 * MIB, true, 800 * MIB},
                {0, false, 0},
                {800 * MIB, false, 800 * MIB}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        job.memory_peak = rows[i].of_stepd;
        json_t *record = hm_record_build(&config, &tiers, &job, rows[i].has_samples ? &samples : NULL, "why", START);
        const json_t *memory = json_object_get(record, "memory");
        assert_int_equal(json_integer_value(json_object_get(memory, "peak_bytes")), rows[i].then);
        const char *source = json_string_value(json_object_get(memory, "peak_source"));
        assert_string_equal(source ? source : "", rows[i].then ? "memory.peak of the job's cgroup" : "");
        json_decref(record);
    }
}

/* The kernel's peak never falls: what an earlier record of the job has is this one's only if it has grown since. */
static void test_a_peak_of_an_earlier_record_is_not_repeated(void **state)
{
    (void)state;
    static const struct {
        uint64_t of_stepd, before;
        const char *source;
    } rows[] = {
        {0, 699 * MIB, "memory.peak of the job's cgroup"},
        {0, 700 * MIB, "largest total of all tiers in one sample"},
        {700 * MIB, 700 * MIB, "largest total of all tiers in one sample"},
        {701 * MIB, 700 * MIB, "memory.peak of the job's cgroup"},
    };
    samples.n_samples = 1;
    samples.peak[0].anon = 600 * MIB;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        job.memory_peak = rows[i].of_stepd;
        job.peak_before = rows[i].before;
        json_t *record = hm_record_build(&config, &tiers, &job, &samples, "why", START);
        const json_t *memory = json_object_get(record, "memory");
        assert_string_equal(json_string_value(json_object_get(memory, "peak_source")), rows[i].source);
        json_int_t peak = json_integer_value(json_object_get(memory, "peak_bytes"));
        assert_int_equal(peak < (json_int_t)(700 * MIB), rows[i].source[0] == 'l');
        json_decref(record);
    }
}

/* Counts beyond the arrays, as the ledger of another version might have: nothing outside the arrays is read. */
static void test_counts_beyond_arrays(void **state)
{
    (void)state;
    plan_spill();
    job.n_steps = job.n_warnings = UINT32_MAX;
    job.plan.n_warnings = INT32_MAX;
    memset(job.warning, 'w', sizeof(job.warning));
    memset(job.plan.warning, 'w', sizeof(job.plan.warning));
    json_t *record = hm_record_build(&config, &tiers, &job, NULL, "why", START + SECOND);
    assert_int_equal(json_array_size(json_object_get(record, "step_ids")), HM_JOB_STEPS - 1);
    assert_true(json_array_size(json_object_get(record, "warnings")) >= HM_JOB_WARNINGS + HM_MAX_WARNINGS);
    json_decref(record);
}

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

/* Two file systems; in the second case the user keeps them, so they were not removed. */
static void test_namespaces(void **state)
{
    (void)state;
    snprintf(job.request, sizeof(job.request), "fsdax,size=2G");
    memcpy(job.plan.request.text, job.request, sizeof(job.request));
    job.has_plan = true;
    job.plan.request.mode = HM_MODE_FSDAX;
    snprintf(job.plan.reason, sizeof(job.plan.reason), "A private DAX file system.");
    job.namespaces = (struct hm_job_namespaces){
        .n = 2,
        .create_s = 0.75,
        .destroy_s = 2.5,
        .each = {{.name = "hybridmem:test:42.0.0", .fs = "ext4", .socket = 0, .bytes = 1024 * MIB},
                 {.name = "hybridmem:test:42.0.1", .fs = "ext4", .socket = 1, .bytes = 1024 * MIB}}};
    assert_golden("namespaces", &tiers, NULL, "no monitor ran on this node");
    job.namespaces.destroy_s = -1;
    job.namespaces.is_kept = true;
    job.namespaces.kept_until_s = 1764446400;
    json_t *record = hm_record_build(&config, &tiers, &job, NULL, "why", START);
    const json_t *first = json_array_get(json_object_get(record, "namespaces"), 0);
    assert_true(json_is_null(json_object_get(first, "destroy_s")));
    assert_string_equal(json_string_value(json_object_get(first, "kept_until")), "2025-11-29T20:00:00.000Z");
    json_decref(record);
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

/* The cache is beside the job's peak; other modes have none. */
static void test_the_cache_of_the_mode_memory(void **state)
{
    (void)state;
    plan_spill();
    job.plan.request.mode = HM_MODE_MEMORY;
    job.plan.policy = HM_POLICY_DEFAULT;
    hm_set_clear(&job.plan.nodes);
    job.plan.side_cache_bytes = 1024 * MIB;
    json_t *record = hm_record_build(&config, &tiers, &job, NULL, "why", START);
    const json_t *plan = json_object_get(record, "plan");
    assert_string_equal(json_string_value(json_object_get(plan, "mode")), "memory");
    assert_int_equal(json_integer_value(json_object_get(plan, "side_cache_bytes")), 1024 * MIB);
    assert_int_equal(json_array_size(json_object_get(plan, "nodes")), 0);
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
        cmocka_unit_test_setup(test_counts_beyond_arrays, set_up),
        cmocka_unit_test_setup(test_nothing_known, set_up),
        cmocka_unit_test_setup(test_a_request_that_was_never_valid, set_up),
        cmocka_unit_test_setup(test_tiers_without_samples, set_up),
        cmocka_unit_test_setup(test_killed_monitor, set_up),
        cmocka_unit_test_setup(test_monitor_without_a_sample, set_up),
        cmocka_unit_test_setup(test_the_larger_peak_counts, set_up),
        cmocka_unit_test_setup(test_a_peak_of_an_earlier_record_is_not_repeated, set_up),
        cmocka_unit_test_setup(test_exit_codes, set_up),
        cmocka_unit_test_setup(test_weights_by_node, set_up),
        cmocka_unit_test_setup(test_whole_record, set_up),
        cmocka_unit_test_setup(test_migration, set_up),
        cmocka_unit_test_setup(test_migration_before_its_first_phase, set_up),
        cmocka_unit_test_setup(test_migration_with_times_that_are_not_known, set_up),
        cmocka_unit_test_setup(test_migration_without_figures, set_up),
        cmocka_unit_test_setup(test_namespaces, set_up),
        cmocka_unit_test_setup(test_guided, set_up),
        cmocka_unit_test_setup(test_seen_share, set_up),
        cmocka_unit_test_setup(test_profile, set_up),
        cmocka_unit_test_setup(test_the_cache_of_the_mode_memory, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
