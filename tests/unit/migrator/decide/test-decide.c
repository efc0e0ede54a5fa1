/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the decision code as a whole: its options, what it exchanges, and that its memory stays bounded. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivenmodel.h"
#include "migrator/decide/decide.h"
#include "migrator/replay/sampler.h"
#include "unit/lib/rows.h"

#define PHASES_OF_A_DAY 8640 /* of 10 s */

static const struct hm_decider_options good = {.algorithm = "regions", .period = 65536, TWO_TIERS, .max_extents = 1000};

static void test_bad_options(void **state)
{
    static const char *const words[] = {"algorithm", "algorithm", "max_extents", "max_extents", "period",
                                        "period",    "read_gain", "write_gain",  "move_cost",   "move_cost",
                                        "error",     "error",     "page_bytes",  "n_tiers",     "n_tiers"};
    (void)state;
    for (size_t i = 0; i < N_ROWS(words); i++) {
        struct hm_decider_options options = good;
        struct hm_error error = {""};
        options.algorithm = i == 0 ? "best" : i == 1 ? NULL : "regions";
        options.max_extents = i == 2 ? 15 : i == 3 ? 1048577 : 16;
        options.period = i == 4 ? 0.5 : i == 5 ? NAN : 1;
        options.n_tiers = i == 13 ? 1 : i == 14 ? HM_MAX_TIERS + 1 : 2;
        options.read_gain[1] = i == 6 ? -1 : 0;
        options.write_gain[1] = i == 7 ? INFINITY : 0;
        options.move_cost[1][0] = i == 8 ? -1 : 0;
        options.move_cost[0][1] = i == 9 ? NAN : 0;
        options.page_bytes = i == 12 ? 0 : 4096;
        options.error = i == 10 ? -0.1 : i == 11 ? 1.1 : 0;
        errno = 0;
        assert_null(hm_decider_new(&options, &error));
        assert_int_equal(errno, EINVAL);
        assert_non_null(strstr(error.text, words[i]));
    }
}

/* Two spans, each of even heat. The hotter one is in the slow tier. Returns whether they are exchanged in any phase. */
static bool is_exchanged(double error, float hotter)
{
    struct hm_decider_options options = good;
    struct hm_error text = {""};
    struct hm_budget budget = {.capacity_pages = {64}, .used_pages = {64}, .move_pages = UINT64_MAX, .phases_left = -1};
    size_t n = 0, n_moves = 0, all = 0;
    options.error = error;
    struct hm_decider *decider = hm_decider_new(&options, &text);
    assert_non_null(decider);
    double first_belief = hm_decider_belief(decider);
    for (int phase = 0; phase < 6; phase++) {
        for (uint64_t i = 0; i < 2; i++) {
            struct hm_observation seen = {.page = 64 * i, .n_pages = 64, .reads = i == 0 ? 10000 : hotter};
            hm_decider_observe(decider, &seen, 1);
        }
        hm_decider_end_phase(decider);
        struct hm_extent *extent = hm_decider_extents(decider, &n);
        for (size_t i = 0; i < n; i++) {
            extent[i].tier_pages[0] = extent[i].first < 64 && extent[i].n_pages <= 64 ? extent[i].n_pages : 0;
            extent[i].tier_pages[1] = extent[i].first == 64 && extent[i].n_pages <= 64 ? extent[i].n_pages : 0;
        }
        hm_decider_plan(decider, &budget, &n_moves);
        all += n_moves;
    }
    /* Gains are hardly believed before one came true. */
    assert_true(first_belief > 0 && first_belief < 0.2);
    assert_true(all > 0 ? hm_decider_belief(decider) > 0.9 : hm_decider_belief(decider) < 0.2);
    hm_decider_free(decider);
    return all > 0;
}

static void test_a_difference_below_the_error_is_left(void **state)
{
    (void)state;
    assert_true(is_exchanged(0, 11500) && is_exchanged(0.2, 14000));
    assert_false(is_exchanged(0.2, 11500));
}

static void test_names(void **state)
{
    const char *name, *about;
    (void)state;
    assert_true(hm_algorithm_at(0, &name, &about));
    assert_string_equal(name, "regions");
    assert_true(hm_algorithm_at(1, &name, &about));
    assert_string_equal(name, "bins");
    assert_false(hm_algorithm_at(2, &name, &about));
    assert_false(hm_algorithm_at(-1, &name, &about));
    for (int i = 0; i < HM_VERDICTS; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(hm_verdict_text((enum hm_verdict)i), hm_verdict_text((enum hm_verdict)j));
}

/* Four stretches of equal heat: written, read, both, and accessed in a way that the source does not know. */
static void test_only_writes_are_hot(void **state)
{
    static const char *const names[] = {"regions", "bins"};
    (void)state;
    for (size_t a = 0; a < N_ROWS(names); a++) {
        struct hm_decider_options options = good;
        size_t n_extents;
        double writes = 0;
        options.algorithm = names[a];
        options.hot_by_writes = true;
        struct hm_decider *decider = hm_decider_new(&options, NULL);
        assert_non_null(decider);
        for (int phase = 0; phase < 4; phase++) {
            for (uint64_t page = 0; page < 4000; page++) {
                float written = page < 1000 ? 8 : page >= 2000 && page < 3000 ? 4 : 0;
                struct hm_observation seen = {
                    .page = page, .n_pages = 1, .reads = 8 - written, .writes = written, .knows_writes = page < 3000};
                hm_decider_observe(decider, &seen, 1);
            }
            hm_decider_end_phase(decider);
        }
        const struct hm_extent *extent = hm_decider_extents(decider, &n_extents);
        for (size_t i = 0; i < n_extents; i++) {
            uint64_t end = extent[i].first + extent[i].n_pages;
            assert_true(extent[i].reads == 0);
            writes += extent[i].writes;
            if ((extent[i].first >= 1000 && end <= 2000) || extent[i].first >= 3000)
                assert_true(extent[i].writes == 0);
        }
        assert_float_equal(writes, 12000, 200);
        assert_int_equal(hm_decider_dropped(decider), 0);
        assert_true(a == 0 || hm_decider_belief(decider) == 1);
        hm_decider_free(decider);
    }
}

/* A phase over mappings of several processes that move, vanish and return, with input that no driver should give. */
static void drift(struct hm_decider *decider, struct hm_random *random, int phase, unsigned samples)
{
    for (unsigned i = 0; i < samples; i++) {
        uint32_t space = (uint32_t)hm_random_below(random, 4) + (uint32_t)phase / 1000;
        uint64_t page = (uint64_t)phase * 64 + hm_random_below(random, 1 << 20);
        struct hm_observation seen = {.page = HM_PAGE(space, page),
                                      .n_pages = i % 97 == 0 ? 1 + hm_random_below(random, 100000) : 1,
                                      .reads = i % 101 == 0   ? NAN
                                               : i % 103 == 0 ? -1
                                                              : 1,
                                      .writes = (float)(i & 1),
                                      .knows_writes = true};
        hm_decider_observe(decider, &seen, 1);
    }
    const struct hm_gone gone = {HM_PAGE(phase / 1000, (uint64_t)phase * 64), 1 << 18};
    if (phase % 100 == 99)
        hm_decider_forget(decider, &gone, 1);
}

static void run_a_day(const char *algorithm, int phases, unsigned samples)
{
    struct hm_decider_options options = good;
    struct hm_error error = {""};
    struct hm_random random = {1};
    options.algorithm = algorithm;
    options.max_extents = 64;
    struct hm_decider *decider = hm_decider_new(&options, &error);
    assert_non_null(decider);
    size_t bytes = hm_decider_bytes(decider), n_extents, n_moves;
    for (int phase = 0; phase < phases; phase++) {
        drift(decider, &random, phase, samples);
        hm_decider_end_phase(decider);
        struct hm_extent *extent = hm_decider_extents(decider, &n_extents);
        assert_true(n_extents <= options.max_extents);
        for (size_t i = 0; i < n_extents; i++) {
            assert_true(i == 0 || extent[i].first >= extent[i - 1].first + extent[i - 1].n_pages);
            assert_int_equal(HM_PAGE_SPACE(extent[i].first), HM_PAGE_SPACE(extent[i].first + extent[i].n_pages - 1));
            assert_true(isfinite(extent[i].priority) && extent[i].reads >= 0 && extent[i].writes >= 0);
            extent[i].tier_pages[0] = i % 3 == 0 ? 1000 : 0;
            extent[i].tier_pages[1] = 5000;
        }
        struct hm_budget budget = {
            .capacity_pages = {20000}, .used_pages = {20000}, .move_pages = UINT64_MAX, .phases_left = -1};
        const struct hm_move *move = hm_decider_plan(decider, &budget, &n_moves);
        uint64_t up = 0, down = 0;
        for (size_t i = 0; i < n_moves; i++)
            *(hm_move_is_up(&move[i]) ? &up : &down) += move[i].limit;
        assert_true(up <= down);
        assert_int_equal(hm_decider_bytes(decider), bytes);
    }
    hm_decider_free(decider);
}

static void test_a_day_without_growth(void **state)
{
    (void)state;
    run_a_day("regions", PHASES_OF_A_DAY, 300);
    run_a_day("bins", PHASES_OF_A_DAY / 10, 300);
}

/* For 1 TiB of resident memory (2^28 pages), a million samples and as many extents as a job's migrator has, the
 * decision code needs less than 8 MiB. */
static void test_a_terabyte_is_bounded(void **state)
{
    struct hm_decider_options options = good;
    struct hm_error error = {""};
    struct hm_random random = {1};
    size_t n;
    (void)state;
    options.max_extents = 8192;
    struct hm_decider *decider = hm_decider_new(&options, &error);
    assert_non_null(decider);
    for (int i = 0; i < 1000000; i++) {
        struct hm_observation seen = {
            .page = hm_random_below(&random, 1 << 28), .n_pages = 1, .reads = 1, .knows_writes = true};
        hm_decider_observe(decider, &seen, 1);
    }
    hm_decider_end_phase(decider);
    hm_decider_extents(decider, &n);
    assert_true(n > 0);
    assert_true(hm_decider_bytes(decider) < 8 << 20);
    hm_decider_free(decider);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_a_difference_below_the_error_is_left),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_only_writes_are_hot),
        cmocka_unit_test(test_a_day_without_growth),
        cmocka_unit_test(test_a_terabyte_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
