/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the metered figures of a record: energy and traffic, measured and estimated. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recordfixture.h"
#include "unit/lib/rows.h"

#define NO_SAMPLES (-1)
#define NOT_KNOWN (-2) /* there are samples, but they do not tell the share */

static struct hm_progress sampled(double fast_share, const char *hot_by)
{
    struct hm_progress step;
    hm_progress_init(&step, 0);
    step.state = HM_PROGRESS_ENDED;
    snprintf(step.hot_by, sizeof(step.hot_by), "%s", hot_by);
    snprintf(step.source, sizeof(step.source), "damon");
    step.samples = fast_share == NO_SAMPLES ? 0 : 100;
    step.fast_share = step.best_share = fast_share < 0 ? -1 : fast_share;
    return step;
}

/* Shares are given only if the migrators had whole tiers. With a third tier, the slow tier's share is not known. */
static void test_estimated_traffic(void **state)
{
    (void)state;
    static const struct {
        double share[2]; /* fast shares of two steps, or one of the above */
        const char *hot_by[2];
        bool has_plan, is_half, has_third; /* is_half: migrators on one socket only; has_third: a third tier */
        double fast, slow;                 /* negative: null */
        bool is_known;
    } rows[] = {
        {{NO_SAMPLES, NO_SAMPLES}, {"accesses", "accesses"}, true, false, false, -1, -1, false},
        {{0.25, NO_SAMPLES}, {"accesses", "accesses"}, true, false, false, 0.25, 0.75, true},
        {{0.25, NOT_KNOWN}, {"accesses", "accesses"}, true, false, false, -1, -1, false},
        {{0.25, 0.5}, {"writes", "writes"}, true, false, false, 0.375, 0.625, true},
        {{1, 1}, {"accesses", "accesses"}, true, false, false, 1, 0, true},
        {{0.25, 0.5}, {"writes", "accesses"}, true, false, false, -1, -1, false},
        {{0.25, 0.5}, {"", ""}, true, false, false, -1, -1, false},
        {{0.25, 0.5}, {"reads", "reads"}, true, false, false, -1, -1, false},
        {{0.25, 0.5}, {"accesses", "accesses"}, false, false, false, -1, -1, false},
        {{0.25, 0.5}, {"accesses", "accesses"}, true, true, false, -1, -1, false},
        {{0.25, 0.25}, {"accesses", "accesses"}, true, false, true, 0.25, -1, true},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
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
        if (rows[i].share[1] == NOT_KNOWN)
            assert_true(json_is_null(json_object_get(json_object_get(record, "migration"), "fast_share")));
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

/* Pages were moved between all three tiers. A migrator of an earlier version did not tell the shares of each. */
static void test_estimated_traffic_of_three_tiers(void **state)
{
    static const struct {
        uint32_t n[2];      /* shares that the two steps tell */
        double share[2][3]; /* negative: not known */
        double wanted[3];   /* negative: null */
    } rows[] = {
        {{3, 3}, {{0.5, 0.3, 0.2}, {0.7, 0.2, 0.1}}, {0.6, 0.25, 0.15}},
        {{3, 3}, {{0.5, 0.3, 0.2}, {0.7, -1, 0.1}}, {0.6, -1, 0.15}},
        {{3, 0}, {{0.5, 0.3, 0.2}, {0.7, 0, 0}}, {0.6, -1, -1}},
        {{0, 3}, {{0.5, 0, 0}, {0.7, 0.2, 0.1}}, {0.6, -1, -1}},
        {{3, 3},
         {{-1, 0.3, 0.2}, {1, 0, 0}},
         {1, 0, 0}}, /* all shares are those of the steps whose fast one is known */
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        set_up(state);
        memset(&job.migration, 0, sizeof(job.migration));
        set_tier(tiers.n_tiers++, "cxl", HM_KIND_CXL, 4);
        job.has_plan = true;
        job.plan.migration.n_middle = 1;
        job.plan.migration.fast_nodes = tiers.tier[0].nodes;
        job.plan.migration.middle[0].nodes = tiers.tier[1].nodes;
        job.plan.migration.slow_nodes = tiers.tier[2].nodes;
        for (int s = 0; s < 2; s++) {
            struct hm_progress step = sampled(rows[i].share[s][0] < 0 ? NOT_KNOWN : rows[i].share[s][0], "accesses");
            step.samples = rows[i].share[s][0] < 0 ? 5 : 100;
            step.n_tier_shares = rows[i].n[s];
            memcpy(step.tier_share, rows[i].share[s], sizeof(rows[i].share[s]));
            hm_migration_add(&job.migration, &step);
        }
        json_t *record = hm_record_build(&config, &tiers, &job, NULL, "why", START);
        const json_t *estimate = json_object_get(json_object_get(record, "traffic"), "estimate");
        for (size_t t = 0; t < 3; t++) {
            const json_t *share = json_object_get(json_array_get(json_object_get(estimate, "tiers"), t), "share");
            assert_int_equal(json_is_real(share), rows[i].wanted[t] >= 0);
            assert_float_equal(json_real_value(share), rows[i].wanted[t] >= 0 ? rows[i].wanted[t] : 0, 1e-12);
        }
        json_decref(record);
    }
}

/* Two minutes of counters: energy of two domains, and traffic, of which the slow tier's writes are not known. */
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

static void assert_joules(const json_t *record, size_t tier, const char *key, double wanted)
{
    const json_t *estimate = json_object_get(json_object_get(record, "energy"), "estimate");
    const json_t *figure = json_object_get(json_array_get(json_object_get(estimate, "tiers"), tier), key);
    if (wanted < 0)
        assert_true(json_is_null(figure));
    else
        assert_float_equal(json_number_value(figure), wanted, wanted * 1e-12);
}

/* A job of an hour in a quarter of the fast tier, which read two gigabytes there and wrote one. */
static void set_estimated(void)
{
    job.start_ns = START;
    sample_at(0, 0, 0, 0);
    samples.tier_last[0] = 256 * MIB; /* the mean of one sample is that sample */
    samples.metered = (struct hm_metered){.n_readings = 2,
                                          .first_mono_ns = SECOND,
                                          .last_mono_ns = 2 * SECOND,
                                          .traffic = {{{2e9, 1}, {1e9, 1}}, {{1e9, 1}, {0, 0}}}};
}

/* Calculated by hand: 1800 J are 2 W * 3600 s / 4; 0.156 J are (2e9 * 6.25 + 1e9 * 7) * 8 pJ. */
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
    for (size_t i = 0; i < N_ROWS(rows); i++) {
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
            assert_joules(record, 1, "dynamic_j", -1); /* the slow tier's writes are not known */
        }
        json_decref(record);
    }
}

/* A tier without a model beside a tier with half a model. */
static void test_a_model_of_one_tier(void **state)
{
    (void)state;
    set_estimated();
    tiers.tier[1].energy.static_w = 3;
    json_t *record = hm_record_build(&config, &tiers, &job, &samples, "why", START + 3600 * SECOND);
    assert_joules(record, 0, "static_j", -1);
    assert_joules(record, 0, "dynamic_j", -1);
    assert_joules(record, 1, "static_j", 0); /* the job used none of it */
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

/* Measured figures are the same with and without estimates. */
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
        cmocka_unit_test_setup(test_estimated_traffic, set_up),
        cmocka_unit_test_setup(test_estimated_traffic_of_three_tiers, set_up),
        cmocka_unit_test_setup(test_estimated_energy, set_up),
        cmocka_unit_test_setup(test_a_model_of_one_tier, set_up),
        cmocka_unit_test_setup(test_estimates_change_nothing_else, set_up),
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
