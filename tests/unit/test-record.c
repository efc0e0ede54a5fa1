/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers/job/record.h"
#include "helpers/job/stepname.h"

#define MIB (UINT64_C(1) << 20)
#define SECOND INT64_C(1000000000)
#define START (INT64_C(1740823200) * SECOND) /* 2025-03-01T10:00:00Z */

static struct hm_config config;
static struct hm_tiers tiers;
static struct hm_job job;
static struct hm_samples samples;

static void set_tier(int index, const char *name, enum hm_kind kind, unsigned first_node)
{
    snprintf(tiers.tier[index].name, HM_NAME, "%s", name);
    tiers.tier[index].kind = kind;
    tiers.tier[index].capacity_bytes = (index == 0 ? 1024 : 4096) * MIB;
    hm_set_add(&tiers.tier[index].nodes, first_node);
    hm_set_add(&tiers.tier[index].nodes, first_node + 1);
}

/* Two sockets, DRAM on nodes 0 and 1, PMem on nodes 2 and 3; an ordinary job with one step. */
static int set_up(void **state)
{
    (void)state;
    hm_config_defaults(&config);
    tiers = (struct hm_tiers){.n_tiers = 2, .topology = {.n_nodes = 4}};
    for (int i = 0; i < 4; i++)
        tiers.topology.node[i].id = i;
    set_tier(0, "dram", HM_KIND_DRAM, 0);
    set_tier(1, "pmem", HM_KIND_PMEM, 2);
    job = (struct hm_job){.job_id = 42,
                          .array_job_id = HM_NO_ID,
                          .array_task_id = HM_NO_ID,
                          .het_job_id = HM_NO_ID,
                          .uid = 1001,
                          .gid = 1001,
                          .user = "alice",
                          .account = "physics",
                          .partition = "main",
                          .cluster = "test",
                          .node = "n1",
                          .request = "spill",
                          .recorded = true,
                          .start_ns = START + SECOND / 4,
                          .n_steps = 2,
                          .step = {0xfffffffc, 0xfffffffb},
                          .has_exit_status = true};
    samples = (struct hm_samples){.magic = HM_SAMPLES_MAGIC,
                                  .version = HM_SAMPLES_VERSION,
                                  .bytes = sizeof(samples),
                                  .n_tiers = 2,
                                  .interval_ms = 1000,
                                  .stride = 1,
                                  .finished = 1,
                                  .peak_source = HM_PEAK_KERNEL,
                                  .memory_peak = 700 * MIB};
    for (int t = 0; t < 2; t++) {
        memcpy(samples.tier_name[t], tiers.tier[t].name, HM_NAME);
        samples.tier_kind[t] = (uint32_t)tiers.tier[t].kind;
        samples.tier_nodes[t] = tiers.tier[t].nodes;
    }
    return 0;
}

static void sample_at(unsigned second, uint64_t fast_anon, uint64_t slow_anon, uint64_t file)
{
    const struct hm_usage usage[HM_MAX_TIERS] = {
        {.anon = fast_anon, .file = file, .shmem = MIB, .kernel = 4096, .hugetlb = 2 * MIB}, {.anon = slow_anon}};
    hm_samples_add(&samples, usage, (uint64_t)(START + second * SECOND), (uint64_t)(second * SECOND));
}

static void plan_spill(void)
{
    job.has_plan = true;
    job.plan.request.mode = HM_MODE_SPILL;
    job.plan.policy = HM_POLICY_INTERLEAVE;
    job.plan.nodes = tiers.tier[0].nodes;
    snprintf(job.plan.reason, sizeof(job.plan.reason), "the fast tier is filled first, evenly over its nodes");
}

/* The record is the one in tests/fixtures/records, which tests/cli holds against the schema. */
static void assert_golden(const char *name, const struct hm_tiers *known, const struct hm_samples *measured,
                          const char *why)
{
    char path[512];
    json_error_t at;
    json_t *record = hm_record_build(&config, known, &job, measured, why, START + 3600 * SECOND + 123456789);
    assert_non_null(record);
    snprintf(path, sizeof(path), FIXTURES "/records/%s.json", name);
    json_t *golden = json_load_file(path, 0, &at);
    char *text = json_dumps(record, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    assert_non_null(text);
    /* By text: the order of the keys is the contract's too. */
    char *wanted = golden ? json_dumps(golden, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;
    if (!wanted || strcmp(text, wanted) != 0) {
        fprintf(stderr, "%s\n", text);
        fail_msg("%s is not what was built (above): %s", path, golden ? "it differs" : at.text);
    }
    free(text);
    free(wanted);
    json_decref(golden);
    json_decref(record);
}

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
    tiers.topology.node[3].id = 8; /* nodes are not numbered in a row */
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
    hm_set_add(&tiers.tier[1].nodes, 9); /* what is there now is not the tier that was measured: no capacity */
    samples.finished = 0;
    samples.peak_source = HM_PEAK_NONE;
    samples.memory_peak = 0;
    snprintf(samples.missing, sizeof(samples.missing), "memory.peak of the job's cgroup: Permission denied");
    sample_at(2, 10 * MIB, 0, 0);
    sample_at(5, 20 * MIB, UINT64_MAX, 0); /* two ticks without a sample; more than JSON's integers hold */
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
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
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

/* slurmstepd reads the peak once more at the end of a step: a job may grow between two samples. */
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
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        job.memory_peak = rows[i].of_stepd;
        json_t *record = hm_record_build(&config, &tiers, &job, rows[i].has_samples ? &samples : NULL, "why", START);
        const json_t *memory = json_object_get(record, "memory");
        assert_int_equal(json_integer_value(json_object_get(memory, "peak_bytes")), rows[i].then);
        const char *source = json_string_value(json_object_get(memory, "peak_source"));
        assert_string_equal(source ? source : "", rows[i].then ? "memory.peak of the job's cgroup" : "");
        json_decref(record);
    }
}

/* Counts beyond the arrays, as a ledger of another version might have: nothing beyond them is read. */
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

/* Two steps that differ, the second killed, and more figures than JSON readers have integers for. */
static void test_migration(void **state)
{
    (void)state;
    struct hm_progress step;
    plan_spill();
    job.plan.request.mode = HM_MODE_MIGRATE;
    job.plan.migration.is_wanted = true;
    job.plan.migration.fast_nodes = tiers.tier[0].nodes;
    job.plan.migration.slow_nodes = tiers.tier[1].nodes;
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
    step.cpu_s = 0.25;
    step.kernel_cpu_s = 0.5;
    step.fast_share = 0.5;
    step.best_share = 0.75;
    step.first_ns = START;
    step.last_ns = START + 30 * SECOND;
    step.most_ranks = 4;
    hm_migration_add(&job.migration, &step);
    step.step_id = HM_STEP_BATCH;
    step.state = HM_PROGRESS_RUNNING;
    memcpy(step.source, "faults", 7);
    step.samples = 1000;
    step.lost = UINT64_MAX;
    step.kernel_cpu_s = -1;
    step.fast_share = 0.9;
    step.best_share = 0.8; /* an estimate: never a negative regret */
    hm_migration_add(&job.migration, &step);
    job.n_warnings = 1;
    snprintf(job.warning[0], HM_WARNING, "the migrator of step batch was killed: its last figures are of some time");
    sample_at(0, 3 * MIB, MIB, 0);
    assert_golden("migrated", &tiers, &samples, "");
    /* Before the first phase nobody has looked what is above the cap. */
    memset(&job.migration, 0, sizeof(job.migration));
    step.phases = 0;
    hm_migration_add(&job.migration, &step);
    json_t *record = hm_record_build(&config, &tiers, &job, &samples, "", START);
    const json_t *migration = json_object_get(record, "migration");
    assert_int_equal(json_integer_value(json_object_get(migration, "cap_bytes")), 600 * MIB);
    assert_true(json_is_null(json_object_get(migration, "above_cap_bytes")));
    assert_true(json_is_null(json_object_get(migration, "first_above_cap_bytes")));
    json_decref(record);
}

static struct hm_progress sampled(double fast_share, const char *hot_by)
{
    struct hm_progress step;
    hm_progress_init(&step, 0);
    step.state = HM_PROGRESS_ENDED;
    snprintf(step.hot_by, sizeof(step.hot_by), "%s", hot_by);
    snprintf(step.source, sizeof(step.source), "damon");
    step.samples = fast_share < 0 ? 0 : 100;
    step.fast_share = step.best_share = fast_share;
    return step;
}

/* Shares are given of what the migrators' nodes are: whole tiers, and of two. */
static void test_estimated_traffic(void **state)
{
    (void)state;
    static const struct {
        double share[2]; /* of two steps; negative: no sample */
        const char *hot_by[2];
        bool has_plan, is_half, has_third; /* a plan; of one socket; a third tier */
        double fast, slow;                 /* negative: null */
        bool is_known;
    } rows[] = {
        {{-1, -1}, {"accesses", "accesses"}, true, false, false, -1, -1, false},
        {{0.25, -1}, {"accesses", "accesses"}, true, false, false, 0.25, 0.75, true},
        {{0.25, 0.5}, {"writes", "writes"}, true, false, false, 0.375, 0.625, true},
        {{1, 1}, {"accesses", "accesses"}, true, false, false, 1, 0, true},
        {{0.25, 0.5}, {"writes", "accesses"}, true, false, false, -1, -1, false},
        {{0.25, 0.5}, {"", ""}, true, false, false, -1, -1, false},
        {{0.25, 0.5}, {"reads", "reads"}, true, false, false, -1, -1, false},
        {{0.25, 0.5}, {"accesses", "accesses"}, false, false, false, -1, -1, false},
        {{0.25, 0.5}, {"accesses", "accesses"}, true, true, false, -1, -1, false},
        {{0.25, 0.25}, {"accesses", "accesses"}, true, false, true, 0.25, -1, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        set_up(state);
        memset(&job.migration, 0, sizeof(job.migration));
        job.has_plan = rows[i].has_plan;
        job.plan.migration.fast_nodes = tiers.tier[0].nodes;
        job.plan.migration.slow_nodes = tiers.tier[1].nodes;
        if (rows[i].is_half)
            hm_set_remove(&job.plan.migration.fast_nodes, 1);
        if (rows[i].has_third)
            set_tier(tiers.n_tiers++, "cxl", HM_KIND_CXL, 4);
        for (int s = 0; s < 2; s++) {
            struct hm_progress step = sampled(rows[i].share[s], rows[i].hot_by[s]);
            hm_migration_add(&job.migration, &step);
        }
        json_t *record = hm_record_build(&config, &tiers, &job, NULL, "why", START);
        const json_t *traffic = json_object_get(record, "traffic"), *estimate = json_object_get(traffic, "estimate");
        assert_int_equal(json_array_size(json_object_get(traffic, "tiers")), 0);
        assert_int_equal(json_is_object(estimate), rows[i].is_known);
        const double wanted[] = {rows[i].fast, rows[i].slow};
        for (size_t t = 0; t < 2 && rows[i].is_known; t++) {
            const json_t *share = json_object_get(json_array_get(json_object_get(estimate, "tiers"), t), "share");
            assert_int_equal(json_is_real(share), wanted[t] >= 0);
            assert_float_equal(json_real_value(share), wanted[t] >= 0 ? wanted[t] : 0, 1e-12);
        }
        json_decref(record);
    }
}

/* Two minutes of counters: energy of two domains, and traffic of which the slow tier's writes are not known. */
static void set_metered(void)
{
    samples.metered = (struct hm_metered){
        .n_readings = 13,
        .first_mono_ns = 5 * SECOND,
        .last_mono_ns = 125 * SECOND,
        .energy = {[HM_DOMAIN_PACKAGE] = {24000, 1}, [HM_DOMAIN_MEMORY] = {3000.5, 1}},
        .peak_w = {310.25, 1},
        .traffic = {{{9e12, 1}, {4096, 1}}, {{1 << 20, 1}, {0, 0}}},
        .energy_source = "powercap; platform: no zone psys",
        .traffic_source = "perf-imc",
        .group = {[HM_GROUP_TOTAL] = {7e9, 1}, [HM_GROUP_LOCAL] = {0, 0}},
        .group_source = "resctrl; the processor does not count local bytes",
    };
}

static void set_model(void)
{
    tiers.tier[0].energy = (struct hm_energy_model){.static_w = 2, .read_pj_bit = 6.25, .write_pj_bit = 7};
    tiers.tier[1].energy = (struct hm_energy_model){.static_w = 0.5, .read_pj_bit = 12.5, .write_pj_bit = 62.5};
}

static void test_metered(void **state)
{
    (void)state;
    set_metered();
    set_model();
    sample_at(0, 3 * MIB, MIB, 0);
    assert_golden("metered", &tiers, &samples, "");
    /* Other jobs were there: the same figures are the node's alone. */
    job.had_company = true;
    assert_golden("shared", &tiers, &samples, "");
    /* But for what its own group counted. */
    job.mongroup.is_begun = true;
    job.mongroup.made_mono_ns = 2 * SECOND;
    assert_golden("grouped", &tiers, &samples, "");
}

/* Figures of a group that did not have all of the job, or that nobody read to the end, are none of the job's. */
static void test_a_group_without_figures(void **state)
{
    static const struct {
        bool is_begun;
        const char *why;
        uint32_t finished;
        const char *source;
        bool is_warned; /* a task was outside: that is no matter of the node */
    } rows[] = {{true, "its tasks are elsewhere", 1, "its tasks are elsewhere", true},
                {true, "its tasks are elsewhere", 0, "its tasks are elsewhere", true},
                {true, "", 0, "the monitor was killed: what was counted after that is not known", false},
                {false, "no mbm_: the processor counts no memory traffic", 1,
                 "no mbm_: the processor counts no memory traffic", false}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        set_metered();
        samples.finished = rows[i].finished;
        job.mongroup.is_begun = rows[i].is_begun;
        snprintf(job.mongroup.why, sizeof(job.mongroup.why), "%s", rows[i].why);
        json_t *record = hm_record_build(&config, &tiers, &job, &samples, "", START);
        const json_t *group = json_object_get(json_object_get(record, "traffic"), "job");
        assert_true(json_is_null(json_object_get(group, "total_bytes")));
        assert_true(json_is_null(json_object_get(group, "local_bytes")));
        assert_true(json_is_null(json_object_get(group, "seconds")));
        assert_string_equal(json_string_value(json_object_get(group, "source")), rows[i].source);
        char *warnings = json_dumps(json_object_get(record, "warnings"), 0);
        const char *warning = strstr(warnings, "its own memory traffic is not known: its tasks are elsewhere");
        assert_int_equal(warning != NULL, rows[i].is_warned);
        assert_int_equal(strstr(warnings, "traffic") != NULL, rows[i].is_warned);
        free(warnings);
        json_decref(record);
    }
    job.mongroup = (struct hm_mongroup){.is_begun = true};
    json_t *record = hm_record_build(&config, &tiers, &job, NULL, "no monitor ran on this node", START);
    const json_t *group = json_object_get(json_object_get(record, "traffic"), "job");
    assert_string_equal(json_string_value(json_object_get(group, "source")), "no monitor ran on this node");
    json_decref(record);
}

/* For no figure, and for a group that is younger than its last reading, there is no time. */
static void test_the_time_of_a_group(void **state)
{
    static const struct {
        bool is_known[HM_GROUP_BYTES];
        uint64_t made_s;
        double seconds; /* negative: null */
    } rows[] = {{{true, true}, 2, 123},
                {{true, false}, 125, 0},
                {{false, true}, 5, 120},
                {{false, false}, 2, -1},
                {{true, true}, 126, -1}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        set_metered();
        for (int g = 0; g < HM_GROUP_BYTES; g++)
            samples.metered.group[g] = (struct hm_metered_figure){0, rows[i].is_known[g]};
        job.mongroup = (struct hm_mongroup){.is_begun = true, .made_mono_ns = rows[i].made_s * SECOND};
        json_t *record = hm_record_build(&config, &tiers, &job, &samples, "", START);
        const json_t *group = json_object_get(json_object_get(record, "traffic"), "job");
        const json_t *seconds = json_object_get(group, "seconds");
        assert_int_equal(json_is_null(seconds), rows[i].seconds < 0);
        if (rows[i].seconds >= 0)
            assert_float_equal(json_real_value(seconds), rows[i].seconds, 1e-9);
        json_decref(record);
    }
}

/* Killed, it does not know the rest: what it had counted is not the job's. */
static void test_metered_by_half(void **state)
{
    (void)state;
    set_metered();
    samples.finished = 0;
    json_t *record = hm_record_build(&config, &tiers, &job, &samples, "", START);
    const json_t *energy = json_object_get(record, "energy");
    assert_true(json_is_null(json_object_get(energy, "package_j")) && json_is_null(json_object_get(energy, "node")));
    assert_non_null(strstr(json_string_value(json_object_get(energy, "source")), "the monitor was killed"));
    json_decref(record);
}

static void assert_joules(const json_t *record, size_t tier, const char *key, double wanted)
{
    const json_t *estimate = json_object_get(json_object_get(record, "energy"), "estimate");
    const json_t *figure = json_object_get(json_array_get(json_object_get(estimate, "tiers"), tier), key);
    if (wanted < 0)
        assert_true(json_is_null(figure));
    else
        assert_float_equal(json_number_value(figure), wanted, wanted * 1e-12);
}

/* An hour with a quarter of the fast tier; two gigabytes read and one written. */
static void set_estimated(void)
{
    job.start_ns = START;
    sample_at(0, 0, 0, 0);
    samples.tier_last[0] = 256 * MIB; /* the mean of one sample is the sample */
    samples.metered = (struct hm_metered){.n_readings = 2,
                                          .first_mono_ns = SECOND,
                                          .last_mono_ns = 2 * SECOND,
                                          .traffic = {{{2e9, 1}, {1e9, 1}}, {{1e9, 1}, {0, 0}}}};
}

/* By hand: 2 W * 3600 s / 4; (2e9 * 6.25 + 1e9 * 7) * 8 pJ. */
static void test_estimated_energy(void **state)
{
    enum without { NOTHING, CAPACITY, START_TIME, MONITORS_END, SAMPLES, MEAN_IN_RANGE, TRAFFIC, POWER, BITS, TIERS };
    static const struct {
        enum without without;
        double static_j, dynamic_j;
    } rows[] = {
        {CAPACITY, -1, 0.156},  {START_TIME, -1, 0.156},    {MONITORS_END, -1, -1},
        {SAMPLES, -1, -1},      {MEAN_IN_RANGE, -1, 0.156}, {TRAFFIC, 1800, -1},
        {POWER, -1, 0.156},     {BITS, 1800, -1},           {TIERS, -1, -1},
        {NOTHING, 1800, 0.156},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum without without = rows[i].without;
        set_up(state);
        set_estimated();
        set_model();
        if (without == CAPACITY)
            tiers.tier[0].capacity_bytes = 0;
        if (without == START_TIME)
            job.start_ns = 0;
        if (without == MONITORS_END)
            samples.finished = 0;
        if (without == MEAN_IN_RANGE)
            tiers.tier[0].capacity_bytes = 255 * MIB;
        job.had_company = without == TRAFFIC;
        if (without == POWER)
            tiers.tier[0].energy.static_w = 0;
        if (without == BITS)
            tiers.tier[0].energy.read_pj_bit = tiers.tier[0].energy.write_pj_bit = 0;
        json_t *record = hm_record_build(&config, without == TIERS ? NULL : &tiers, &job,
                                         without == SAMPLES ? NULL : &samples, "why", START + 3600 * SECOND);
        const json_t *energy = json_object_get(record, "energy");
        assert_int_equal(json_is_null(json_object_get(energy, "estimate")), without == TIERS);
        assert_true(json_is_null(json_object_get(energy, "package_j")) &&
                    json_is_null(json_object_get(energy, "mean_w")));
        if (without != TIERS) {
            assert_joules(record, 0, "static_j", rows[i].static_j);
            assert_joules(record, 0, "dynamic_j", rows[i].dynamic_j);
            assert_joules(record, 1, "dynamic_j", -1); /* its writes are not known */
        }
        json_decref(record);
    }
}

/* A tier without a model beside one with half of it. */
static void test_a_model_of_one_tier(void **state)
{
    (void)state;
    set_estimated();
    tiers.tier[1].energy.static_w = 3;
    json_t *record = hm_record_build(&config, &tiers, &job, &samples, "why", START + 3600 * SECOND);
    assert_joules(record, 0, "static_j", -1);
    assert_joules(record, 0, "dynamic_j", -1);
    assert_joules(record, 1, "static_j", 0); /* the job had none of it */
    assert_joules(record, 1, "dynamic_j", -1);
    json_decref(record);
    tiers.tier[1].energy.static_w = 0;
    record = hm_record_build(&config, &tiers, &job, &samples, "why", START + 3600 * SECOND);
    assert_true(json_is_null(json_object_get(json_object_get(record, "energy"), "estimate")));
    json_decref(record);
}

static json_t *without_estimates(void)
{
    json_t *record = hm_record_build(&config, &tiers, &job, &samples, "", START + 3600 * SECOND);
    json_object_del(json_object_get(record, "energy"), "estimate");
    json_object_del(json_object_get(record, "traffic"), "estimate");
    return record;
}

/* What was measured is the same with them and without. */
static void test_estimates_change_nothing_else(void **state)
{
    (void)state;
    struct hm_progress step = sampled(0.25, "accesses");
    plan_spill();
    set_metered();
    sample_at(0, 3 * MIB, MIB, 0);
    hm_migration_add(&job.migration, &step);
    json_t *without = without_estimates();
    set_model();
    job.plan.migration.fast_nodes = tiers.tier[0].nodes;
    job.plan.migration.slow_nodes = tiers.tier[1].nodes;
    json_t *record = hm_record_build(&config, &tiers, &job, &samples, "", START + 3600 * SECOND);
    assert_true(json_is_object(json_object_get(json_object_get(record, "energy"), "estimate")));
    assert_true(json_is_object(json_object_get(json_object_get(record, "traffic"), "estimate")));
    json_t *with = without_estimates();
    assert_true(json_equal(with, without));
    json_decref(record);
    json_decref(with);
    json_decref(without);
}

/* A node with many sources has as many reasons: none is cut. */
static void test_a_long_source_is_whole(void **state)
{
    (void)state;
    set_metered();
    memset(samples.metered.energy_source, 'x', HM_METERED_SOURCE - 1);
    memset(samples.metered.traffic_source, 'y', HM_METERED_SOURCE - 1);
    memset(samples.metered.traffic, 0, sizeof(samples.metered.traffic));
    json_t *record = hm_record_build(&config, &tiers, &job, &samples, "", START);
    const char *energy = json_string_value(json_object_get(json_object_get(record, "energy"), "source"));
    const char *traffic = json_string_value(json_object_get(json_object_get(record, "traffic"), "source"));
    assert_int_equal(strspn(energy, "x"), HM_METERED_SOURCE - 1);
    assert_string_equal(energy + HM_METERED_SOURCE - 1, "; for the node, on which no other job ran");
    assert_int_equal(strspn(traffic, "y"), HM_METERED_SOURCE - 1);
    json_decref(record);
}

/* Nothing is known of anything: the counters' own words are the source. */
static void test_metered_nothing(void **state)
{
    (void)state;
    samples.metered = (struct hm_metered){.n_readings = 2,
                                          .first_mono_ns = SECOND,
                                          .last_mono_ns = SECOND,
                                          .energy_source = "powercap: no RAPL zones here",
                                          .traffic_source = "perf-imc: no such PMU"};
    json_t *record = hm_record_build(&config, &tiers, &job, &samples, "", START);
    const json_t *energy = json_object_get(record, "energy"), *traffic = json_object_get(record, "traffic");
    assert_string_equal(json_string_value(json_object_get(energy, "source")), "powercap: no RAPL zones here");
    assert_string_equal(json_string_value(json_object_get(traffic, "source")), "perf-imc: no such PMU");
    assert_true(json_is_null(json_object_get(energy, "node")) && json_is_null(json_object_get(traffic, "node")));
    assert_int_equal(json_array_size(json_object_get(traffic, "tiers")), 0);
    json_decref(record);
    /* One reading has no time between: joules, but no watts. */
    set_metered();
    samples.metered.last_mono_ns = samples.metered.first_mono_ns;
    record = hm_record_build(&config, &tiers, &job, &samples, "", START);
    energy = json_object_get(record, "energy");
    assert_true(json_is_real(json_object_get(energy, "package_j")));
    assert_true(json_is_null(json_object_get(energy, "mean_w")));
    json_decref(record);
}

/* Two file systems; the second run of them was not removed. */
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

/* A migrator that said nothing: what was asked for, and that it is not known. */
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
        cmocka_unit_test_setup(test_tiers_without_samples, set_up),
        cmocka_unit_test_setup(test_killed_monitor, set_up),
        cmocka_unit_test_setup(test_monitor_without_a_sample, set_up),
        cmocka_unit_test_setup(test_the_larger_peak_counts, set_up),
        cmocka_unit_test_setup(test_exit_codes, set_up),
        cmocka_unit_test_setup(test_weights_by_node, set_up),
        cmocka_unit_test_setup(test_whole_record, set_up),
        cmocka_unit_test_setup(test_migration, set_up),
        cmocka_unit_test_setup(test_migration_without_figures, set_up),
        cmocka_unit_test_setup(test_estimated_traffic, set_up),
        cmocka_unit_test_setup(test_estimated_energy, set_up),
        cmocka_unit_test_setup(test_a_model_of_one_tier, set_up),
        cmocka_unit_test_setup(test_estimates_change_nothing_else, set_up),
        cmocka_unit_test_setup(test_metered, set_up),
        cmocka_unit_test_setup(test_a_group_without_figures, set_up),
        cmocka_unit_test_setup(test_the_time_of_a_group, set_up),
        cmocka_unit_test_setup(test_metered_by_half, set_up),
        cmocka_unit_test_setup(test_a_long_source_is_whole, set_up),
        cmocka_unit_test_setup(test_metered_nothing, set_up),
        cmocka_unit_test_setup(test_namespaces, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
