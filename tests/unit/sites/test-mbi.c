/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the plan of a profile by bandwidth isolation, its files, and what its results come to. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc/hybridmem.h"
#include "madesite.h"
#include "sites/mbi/sum.h"
#include "unit/lib/rows.h"

#define MIB (UINT64_C(1) << 20)
#define SITES 8

/* A profile with sites of these MiB, and one class of small allocations. */
static struct hm_profile make_profile(struct hm_profile_site site[SITES + 1], const unsigned *mib, size_t n)
{
    struct hm_profile profile = {.elapsed_s = 10, .n_sites = n + 1, .site = site};
    for (size_t i = 0; i < n; i++) {
        site[i] = made_site(i + 1, mib[i] * MIB, 0);
        profile.peak_bytes += site[i].peak_bytes;
    }
    site[n] = (struct hm_profile_site){.id = 99, .class_bytes = 64, .allocations = 9, .peak_bytes = 100 * MIB};
    return profile;
}

static void test_small_sites_are_put_together(void **state)
{
    static const unsigned mib[] = {3, 40, 2, 50, 4, 1};
    struct hm_profile_site site[SITES + 1];
    struct hm_profile profile = make_profile(site, mib, N_ROWS(mib));
    struct hm_mbi_plan plan = {.folder = NULL};
    struct hm_error error = {""};
    (void)state;
    assert_int_equal(hm_mbi_plan_make(&profile, "a", 0.06, 2, false, &plan, &error), 0);
    /* 50, 40, 4, 3 + 2 + 1 of 100 */
    assert_int_equal(plan.n_groups, 4);
    assert_int_equal(plan.group[0].id[0], 4);
    assert_int_equal(plan.group[1].id[0], 2);
    assert_int_equal(plan.group[2].id[0], 5);
    assert_int_equal(plan.group[3].n, 3);
    assert_true(hm_mbi_group_has(&plan.group[3], 1) && hm_mbi_group_has(&plan.group[3], 3) &&
                hm_mbi_group_has(&plan.group[3], 6));
    assert_false(hm_mbi_group_has(&plan.group[3], 99));
    assert_int_equal(hm_mbi_plan_runs(&plan), 12);
    for (size_t i = 0; i < hm_mbi_plan_runs(&plan); i++) {
        struct hm_mbi_run run = hm_mbi_plan_run(&plan, i);
        assert_int_equal(hm_mbi_plan_number(&plan, run.repetition, run.part, run.group), i);
        assert_true(run.part != HM_MBI_GROUP || run.group < plan.n_groups);
    }
    hm_mbi_plan_free(&plan);
}

/* A size class needs the build-id, and its stacks no look. Sites of little memory are left out. */
static void test_with_arenas_small_allocations_are_measured(void **state)
{
    static const unsigned mib[] = {10, 50};
    struct hm_profile_site site[SITES + 1];
    struct hm_profile profile = make_profile(site, mib, N_ROWS(mib));
    struct hm_mbi_plan plan = {.folder = NULL};
    struct hm_error error = {""};
    char id[] = "0a";
    (void)state;
    profile.least_bytes = 4096;
    site[0].allocations = 100000;
    for (unsigned i = 0; i < 4; i++) {
        bool has_id = i % 2, has_ten = i / 2;
        plan.build_id = profile.build_id = has_id ? id : NULL;
        assert_int_equal(hm_mbi_plan_make(&profile, "a", has_ten ? 0.1 : 0.5, 1, true, &plan, &error), 0);
        assert_int_equal(plan.n_groups, 1 + has_id + has_ten);
        assert_int_equal(plan.group[0].id[0], has_id ? 99 : 2); /* the class has the most */
        assert_int_equal(plan.group[plan.n_groups - 1].id[0], has_ten ? 1 : 2);
        assert_int_equal(plan.least_bytes, has_ten ? 4096 : HM_ALLOC_LEAST);
        plan.build_id = NULL;
        hm_mbi_plan_free(&plan);
    }
}

static void test_a_plan_has_no_more_runs_than_a_job_array(void **state)
{
    enum { MANY = 2000 };
    struct hm_profile_site *site = calloc(MANY, sizeof(*site));
    struct hm_profile profile = {.elapsed_s = 10, .peak_bytes = MANY * MIB, .n_sites = MANY, .site = site};
    struct hm_mbi_plan plan = {.folder = NULL};
    struct hm_error error = {""};
    size_t n = 0;
    (void)state;
    assert_non_null(site);
    for (size_t i = 0; i < MANY; i++)
        site[i] = made_site(i + 1, MIB, 0);
    for (unsigned repetitions = 1; repetitions <= HM_MBI_REPETITIONS; repetitions++) {
        assert_int_equal(hm_mbi_plan_make(&profile, "a", 0, repetitions, false, &plan, &error), 0);
        assert_in_range(hm_mbi_plan_runs(&plan), HM_MBI_RUNS - repetitions, HM_MBI_RUNS);
        n = 0;
        for (size_t i = 0; i < plan.n_groups; i++)
            n += plan.group[i].n;
        assert_int_equal(n, MANY);
        hm_mbi_plan_free(&plan);
    }
    free(site);
}

static void test_without_sites_there_is_no_plan(void **state)
{
    static const unsigned mib[] = {1};
    struct hm_profile_site site[SITES + 1];
    struct hm_profile profile = make_profile(site, mib, 1);
    struct hm_mbi_plan plan = {.folder = NULL};
    struct hm_error error = {""};
    (void)state;
    site[0].allocations = 1000;
    assert_int_equal(hm_mbi_plan_make(&profile, "a", 0, 1, false, &plan, &error), -1);
    assert_int_equal(errno, ENODATA);
    assert_string_equal(error.text,
                        "a: no site has large allocations that can be placed, so there is nothing to measure");
    hm_mbi_plan_free(&plan);
}

#define BEFORE_LEAST                                                                                                   \
    "{\"schema\":1,\"folder\":\"/a\",\"words\":[\"./a\",\"-n 4\"],\"build_id\":\"0a\",\"repetitions\":2,"
#define LEAST_PLAN(least, groups) BEFORE_LEAST "\"least_bytes\":" least ",\"groups\":" groups "}"
#define PLAN(groups) LEAST_PLAN("131072", groups)
#define ONE "0000000000000001"
#define TWO "0000000000000002"

static const struct {
    const char *text;
    const char *said; /* NULL: it is right */
} plans[] = {
    {PLAN("[[\"" ONE "\"],[\"" TWO "\"]]"), NULL},
    {PLAN("[[\"" ONE "\",\"" TWO "\"]]"), NULL},
    {LEAST_PLAN("4096", "[[\"" ONE "\"]]"), NULL},
    {LEAST_PLAN("131073", "[[\"" ONE "\"]]"), "a: least_bytes has to be a whole number from 1 to 131072"},
    {PLAN("[]"), "a: groups has to be an array with a group"},
    {PLAN("[[]]"), "a: groups has to be arrays of ids"},
    {PLAN("[[\"1\"]]"), "a: groups has to be arrays of ids, ascending"},
    {PLAN("[[\"" TWO "\",\"" ONE "\"]]"), "a: groups has to be arrays of ids, ascending"},
    {PLAN("[[\"" ONE "\"],[\"" ONE "\"]]"), "a: groups has to be without an id that stands twice"},
    {"[]", "a: no plan, as it is not a JSON object"},
    {"{\"schema\":1,\"folder\":\"/a\",\"words\":[],\"build_id\":null,\"repetitions\":1,\"groups\":[[\"" ONE "\"]]}",
     "a: words has to be an array of 1 to 4096 texts"},
    {"{\"schema\":1,\"folder\":\"/a\",\"words\":[\"\"],\"build_id\":null,\"repetitions\":1,\"groups\":[[\"" ONE "\"]]}",
     "a: words has to be an array of 1 to 4096 texts, the first the program"},
    {"{\"schema\":1,\"folder\":\"/a\",\"words\":[\"a\"],\"build_id\":null,\"repetitions\":21,\"groups\":[[\"" ONE
     "\"]]}",
     "a: repetitions has to be a whole number from 1 to 20"},
};

static void test_plans_are_read_as_they_were_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(plans); i++) {
        struct hm_mbi_plan plan;
        struct hm_error error = {""};
        int status = hm_mbi_plan_parse("a", plans[i].text, strlen(plans[i].text), &plan, &error);
        assert_int_equal(status, plans[i].said ? -1 : 0);
        assert_string_equal(error.text, plans[i].said ? plans[i].said : "");
        if (status < 0)
            continue;
        json_t *json = hm_mbi_plan_json(&plan);
        char *text = json_dumps(json, JSON_COMPACT);
        assert_string_equal(text, plans[i].text);
        free(text);
        json_decref(json);
        hm_mbi_plan_free(&plan);
    }
}

/* Such plans were made before small allocations could be placed. */
static void test_a_plan_need_not_say_the_least_size(void **state)
{
    static const char text[] = BEFORE_LEAST "\"groups\":[[\"" ONE "\"]]}";
    struct hm_mbi_plan plan;
    (void)state;
    assert_int_equal(hm_mbi_plan_parse("a", text, strlen(text), &plan, NULL), 0);
    assert_int_equal(plan.least_bytes, HM_ALLOC_LEAST);
    hm_mbi_plan_free(&plan);
}

#define RESULT(reason, source, figures)                                                                                \
    "{\"schema\":1,\"reason\":" reason ",\"node\":\"n1\",\"source\":" source                                           \
    ",\"start\":\"2026-11-28T20:00:00Z\",\"elapsed_s\":1.5," figures "}"

static const struct {
    const char *text;
    const char *said;
} results[] = {
    {RESULT("null", "\"papi\"", "\"read_bytes\":64.0,\"write_bytes\":0.0"), NULL},
    {RESULT("\"why\"", "null", "\"read_bytes\":null,\"write_bytes\":null"), NULL},
    {RESULT("\"why\"", "null", "\"read_bytes\":1.0,\"write_bytes\":2.0"),
     "a: reason has to be a text where a figure is null, else null"},
    {RESULT("null", "\"papi\"", "\"read_bytes\":null,\"write_bytes\":2.0"),
     "a: reason has to be a text where a figure is null, else null"},
    {RESULT("null", "null", "\"read_bytes\":1.0,\"write_bytes\":2.0"),
     "a: source has to be a text where there are figures"},
    {RESULT("null", "\"papi\"", "\"read_bytes\":-1.0,\"write_bytes\":2.0"),
     "a: read_bytes has to be a number that is not negative"},
    {RESULT("\"a\\nb\"", "null", "\"read_bytes\":null,\"write_bytes\":null"),
     "a: reason has to be one line without control characters"},
    {"7", "a: no result, as it is not a JSON object"},
};

static void test_results_are_read_as_they_were_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(results); i++) {
        struct hm_mbi_result result;
        struct hm_error error = {""};
        int status = hm_mbi_result_parse("a", results[i].text, strlen(results[i].text), &result, &error);
        assert_int_equal(status, results[i].said ? -1 : 0);
        assert_string_equal(error.text, results[i].said ? results[i].said : "");
        if (status < 0)
            continue;
        json_t *json = hm_mbi_result_json(&result);
        char *text = json_dumps(json, JSON_COMPACT);
        assert_string_equal(text, results[i].text);
        free(text);
        json_decref(json);
    }
}

/* ------------------------------------------------------------ sum */

enum { GROUPS = 3, EACH = GROUPS + 2, MOST = 3 * EACH };

/* Three repetitions: nothing, all else, site 1, site 2, and sites 3 and 4 together. */
static const double bytes[MOST] = {100, 600, 1100, 3100, 4100, 200, 700, 1300, 3200, 4200, 0, 500, 900, 3000, 4000};

struct summing {
    struct hm_profile_site site[SITES + 1];
    struct hm_profile profile;
    struct hm_mbi_plan plan;
    struct hm_mbi_result result[MOST];
    const struct hm_mbi_result *known[MOST];
};

static struct summing *begin(unsigned repetitions)
{
    static const unsigned mib[] = {40, 30, 3, 1};
    struct summing *summing = calloc(1, sizeof(*summing));
    struct hm_error error = {""};
    assert_non_null(summing);
    summing->profile = make_profile(summing->site, mib, N_ROWS(mib));
    assert_int_equal(hm_mbi_plan_make(&summing->profile, "a", 0.1, repetitions, false, &summing->plan, &error), 0);
    assert_int_equal(summing->plan.n_groups, GROUPS);
    for (size_t i = 0; i < hm_mbi_plan_runs(&summing->plan); i++) {
        summing->result[i] = (struct hm_mbi_result){.read_bytes = bytes[i] / 2, .write_bytes = bytes[i] / 2};
        summing->known[i] = &summing->result[i];
    }
    return summing;
}

static void end(struct summing *summing)
{
    hm_mbi_plan_free(&summing->plan);
    free(summing->profile.source);
    free(summing->profile.why);
    free(summing);
}

static void test_what_others_did_meanwhile_is_taken_off(void **state)
{
    struct summing *summing = begin(3);
    const struct hm_profile_site *site = summing->site;
    struct hm_error error = {""};
    (void)state;
    summing->site[0].slices = (struct hm_slices){.is_known = true, .accesses = {7}, .samples = 7};
    assert_int_equal(hm_mbi_sum(&summing->plan, summing->known, false, &summing->profile, &error), 0);
    assert_string_equal(summing->profile.source, "mbi");
    assert_null(summing->profile.why);
    assert_float_equal(summing->profile.elsewhere, 500, 1e-9);
    assert_float_equal(hm_profile_accesses(&site[0]), 1000, 1e-9);
    assert_float_equal(site[0].reads, 500, 1e-9);
    assert_float_equal(hm_profile_accesses(&site[1]), 3000, 1e-9);
    /* Together they have 4000, by their mean bytes. */
    assert_float_equal(hm_profile_accesses(&site[2]), 3000, 1e-9);
    assert_float_equal(hm_profile_accesses(&site[3]), 1000, 1e-9);
    assert_true(isnan(site[4].reads) && isnan(site[4].counted.low));
    assert_true(isnan(site[0].samples) && isnan(summing->profile.samples));
    assert_float_equal(site[0].slices.samples, 7, 0); /* the samples still tell its parts apart */
    end(summing);
}

/* Site 1 has 1000, 1100 and 900: a mean of 1000, with t(2) = 4.303 times 100 / sqrt(3) to both sides; all else has no
 * spread. */
/* The bounds of the mean of three shares: the first site had 900, 1000 and 1100 bytes, all others 7500. */
static struct hm_profile_bounds bounds_of_three(const double share[3])
{
    double mean = (share[0] + share[1] + share[2]) / 3, squares = 0;
    for (int i = 0; i < 3; i++)
        squares += (share[i] - mean) * (share[i] - mean);
    double half = 4.303 * sqrt(squares / 2 / 3);
    return (struct hm_profile_bounds){mean - half, mean + half};
}

static void test_bounds_are_those_of_the_repetitions(void **state)
{
    struct summing *summing = begin(3);
    struct hm_error error = {""};
    (void)state;
    assert_int_equal(hm_mbi_sum(&summing->plan, summing->known, false, &summing->profile, &error), 0);
    struct hm_profile_bounds first =
        hm_profile_confidence(&summing->profile, hm_profile_all_accesses(&summing->profile), &summing->site[0]);
    struct hm_profile_bounds wanted = bounds_of_three((const double[]){900.0 / 8400, 1000.0 / 8500, 1100.0 / 8600});
    assert_float_equal(first.low, wanted.low, 1e-9);
    assert_float_equal(first.high, wanted.high, 1e-9);
    /* Its own traffic has no spread: only that of all others is not known exactly. */
    struct hm_profile_bounds second =
        hm_profile_confidence(&summing->profile, hm_profile_all_accesses(&summing->profile), &summing->site[1]);
    wanted = bounds_of_three((const double[]){3000.0 / 8400, 3000.0 / 8500, 3000.0 / 8600});
    assert_float_equal(second.low, wanted.low, 1e-9);
    assert_float_equal(second.high, wanted.high, 1e-9);
    /* Which of the two in a group has what is not known. */
    struct hm_profile_bounds small =
        hm_profile_confidence(&summing->profile, hm_profile_all_accesses(&summing->profile), &summing->site[3]);
    wanted = bounds_of_three((const double[]){4000.0 / 8400, 4000.0 / 8500, 4000.0 / 8600});
    assert_float_equal(small.low, 0, 0);
    assert_float_equal(small.high, wanted.high, 1e-9);
    end(summing);
}

/* The run with nothing in the slow tier is taken off each part: what it has too much, all have too little. */
static void test_bounds_know_what_all_parts_have_in_common(void **state)
{
    struct summing *summing = begin(3);
    struct hm_error error = {""};
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        summing->result[hm_mbi_plan_number(&summing->plan, i, HM_MBI_NOTHING, 0)].read_bytes += 100.0 * i;
    assert_int_equal(hm_mbi_sum(&summing->plan, summing->known, false, &summing->profile, &error), 0);
    struct hm_profile_bounds first =
        hm_profile_confidence(&summing->profile, hm_profile_all_accesses(&summing->profile), &summing->site[0]);
    struct hm_profile_bounds wanted =
        bounds_of_three((const double[]){1000.0 / 8500, (1100.0 - 100) / (8600 - 400), (900.0 - 200) / (8400 - 800)});
    assert_float_equal(first.low, wanted.low, 1e-9);
    assert_float_equal(first.high, wanted.high, 1e-9);
    end(summing);
}

static void test_one_repetition_has_no_bounds(void **state)
{
    struct summing *summing = begin(1);
    struct hm_error error = {""};
    (void)state;
    assert_int_equal(hm_mbi_sum(&summing->plan, summing->known, false, &summing->profile, &error), 0);
    for (size_t i = 0; i < GROUPS + 1; i++) {
        assert_true(hm_profile_accesses(&summing->site[i]) > 0);
        assert_true(isnan(
            hm_profile_confidence(&summing->profile, hm_profile_all_accesses(&summing->profile), &summing->site[i])
                .low));
    }
    end(summing);
}

static void test_what_was_not_measured_has_no_figure(void **state)
{
    struct summing *summing = begin(3);
    struct hm_error error = {""};
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        summing->known[hm_mbi_plan_number(&summing->plan, i, HM_MBI_GROUP, 1)] = NULL;
    assert_int_equal(hm_mbi_sum(&summing->plan, summing->known, false, &summing->profile, &error), -1);
    assert_string_equal(error.text, "1 of 3 groups of sites was not measured");
    assert_int_equal(hm_mbi_sum(&summing->plan, summing->known, true, &summing->profile, &error), 0);
    assert_string_equal(summing->profile.why, "1 of 3 groups of sites was not measured");
    assert_true(isnan(summing->site[1].reads));
    assert_float_equal(hm_profile_accesses(&summing->site[0]), 1000, 1e-9);
    /* Of one repetition what others did is not known: it does not count. */
    summing->known[hm_mbi_plan_number(&summing->plan, 1, HM_MBI_NOTHING, 0)] = NULL;
    assert_int_equal(hm_mbi_sum(&summing->plan, summing->known, true, &summing->profile, &error), 0);
    assert_float_equal(hm_profile_accesses(&summing->site[0]), 950, 1e-9);
    for (unsigned i = 0; i < 3; i++)
        summing->known[hm_mbi_plan_number(&summing->plan, i, HM_MBI_REST, 0)] = NULL;
    assert_int_equal(hm_mbi_sum(&summing->plan, summing->known, true, &summing->profile, &error), -1);
    assert_string_equal(error.text, "the memory that is in no group was not measured");
    end(summing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small_sites_are_put_together),
                                       cmocka_unit_test(test_with_arenas_small_allocations_are_measured),
                                       cmocka_unit_test(test_a_plan_has_no_more_runs_than_a_job_array),
                                       cmocka_unit_test(test_without_sites_there_is_no_plan),
                                       cmocka_unit_test(test_plans_are_read_as_they_were_written),
                                       cmocka_unit_test(test_a_plan_need_not_say_the_least_size),
                                       cmocka_unit_test(test_results_are_read_as_they_were_written),
                                       cmocka_unit_test(test_what_others_did_meanwhile_is_taken_off),
                                       cmocka_unit_test(test_bounds_are_those_of_the_repetitions),
                                       cmocka_unit_test(test_bounds_know_what_all_parts_have_in_common),
                                       cmocka_unit_test(test_one_repetition_has_no_bounds),
                                       cmocka_unit_test(test_what_was_not_measured_has_no_figure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
