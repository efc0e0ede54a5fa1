/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the figures of a record that were measured: energy and traffic. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recordfixture.h"
#include "unit/lib/rows.h"

/* Without a migrator, the node's counters have the share of a job that was alone there, if they have each tier's reads
 * and writes. */
static void test_seen_by_counters(void **state)
{
#define NO_MIGRATOR "no migrator ran beside the step: guided,migrate starts one; counters "
    static const struct {
        uint64_t is_known; /* the slow tier's writes are */
        bool had_company, is_others_plan;
        const char *source;
    } rows[] = {
        {1, false, false, "bytes of the whole job, all its steps: perf-imc; for the node, on which no other job ran"},
        {0, false, false,
         NO_MIGRATOR "do not tell it: perf-imc; for the node, on which no other job ran, and not the reads and "
                     "writes of each tier"},
        {1, true, false, NO_MIGRATOR "are the node's, and other jobs ran there"},
        {1, false, true, NO_MIGRATOR "are the whole job's, whose plan is of another mode"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        set_up(state);
        set_metered();
        job.has_cores = false;
        job.had_company = rows[i].had_company;
        if (!rows[i].is_others_plan)
            job.plan.guide.fast_nodes = tiers.tier[0].nodes;
        job.guided = (struct hm_guided){.is_known = true, .expected_share = 0.75};
        memcpy(samples.metered.traffic,
               &(struct hm_metered_figure[][HM_DIRECTIONS]){{{5e9, 1}, {1e9, 1}}, {{1e9, 1}, {1e9, rows[i].is_known}}},
               sizeof(struct hm_metered_figure[2][HM_DIRECTIONS]));
        json_t *record = hm_record_build(&config, &tiers, &job, &samples, "", START);
        const json_t *guided = json_object_get(record, "guided"), *seen = json_object_get(guided, "seen_share");
        assert_string_equal(json_string_value(json_object_get(guided, "seen_source")), rows[i].source);
        assert_int_equal(json_is_real(seen), i == 0);
        assert_float_equal(json_real_value(seen), i == 0 ? 0.75 : 0, 1e-9);
        json_decref(record);
    }
}

static void test_metered(void **state)
{
    (void)state;
    set_metered();
    set_model();
    sample_at(0, 3 * MIB, MIB, 0);
    assert_golden("metered", &tiers, &samples, "");
    /* With other jobs on the node, the same figures are only the node's. */
    job.had_company = true;
    assert_golden("shared", &tiers, &samples, "");
    /* What the job's own resctrl group counted is the job's, in spite of the other jobs. */
    job.mongroup.is_begun = true;
    job.mongroup.made_mono_ns = 2 * SECOND;
    assert_golden("grouped", &tiers, &samples, "");
}

/* Figures of a group that did not have the whole job, or was not read to the end, are not the job's. */
static void test_a_group_without_figures(void **state)
{
    static const struct {
        bool is_begun;
        const char *why;
        uint32_t finished;
        const char *source;
        bool is_warned; /* a task was outside the group */
    } rows[] = {{true, "its tasks are elsewhere", 1, "its tasks are elsewhere", true},
                {true, "its tasks are elsewhere", 0, "its tasks are elsewhere", true},
                {true, "", 0, "the monitor was killed: what was counted after that is not known", false},
                {false, "no mbm_: the processor counts no memory traffic", 1,
                 "no mbm_: the processor counts no memory traffic", false}};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
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

/* The time is null if there is no figure, or if the group was made after the last reading. */
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
    for (size_t i = 0; i < N_ROWS(rows); i++) {
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

/* What a monitor had counted before it was killed is not the whole job's. */
static void test_metered_until_the_monitor_was_killed(void **state)
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

/* A node with many sources has as many reasons: none of them is cut. */
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

/* Without any figure, the counters' own words are the source. */
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
    /* Where no time is between the first and the last reading, there are joules, but no mean power. */
    set_metered();
    samples.metered.last_mono_ns = samples.metered.first_mono_ns;
    record = hm_record_build(&config, &tiers, &job, &samples, "", START);
    energy = json_object_get(record, "energy");
    assert_true(json_is_real(json_object_get(energy, "package_j")));
    assert_true(json_is_null(json_object_get(energy, "mean_w")));
    json_decref(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_metered, set_up),
        cmocka_unit_test_setup(test_seen_by_counters, set_up),
        cmocka_unit_test_setup(test_a_group_without_figures, set_up),
        cmocka_unit_test_setup(test_the_time_of_a_group, set_up),
        cmocka_unit_test_setup(test_metered_until_the_monitor_was_killed, set_up),
        cmocka_unit_test_setup(test_a_long_source_is_whole, set_up),
        cmocka_unit_test_setup(test_metered_nothing, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
