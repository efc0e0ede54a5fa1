/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the record of a job, except for its metered figures (test-recordmetered.c) and what its steps' migrators and
 * guided programs leave (test-recordsteps.c). */
#include <stdio.h>
#include <string.h>

#include "recordfixture.h"
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
        cmocka_unit_test_setup(test_namespaces, set_up),
        cmocka_unit_test_setup(test_the_cache_of_the_mode_memory, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
