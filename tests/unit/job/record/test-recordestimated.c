/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the figures of a record that are estimated: energy and traffic by tier. */
#include <stdio.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_estimated_traffic, set_up),
        cmocka_unit_test_setup(test_estimated_traffic_of_three_tiers, set_up),
        cmocka_unit_test_setup(test_estimated_energy, set_up),
        cmocka_unit_test_setup(test_a_model_of_one_tier, set_up),
        cmocka_unit_test_setup(test_estimates_change_nothing_else, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
