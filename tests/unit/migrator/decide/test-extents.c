/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the algorithm `regions`: which extents it finds in what was observed, and what it moves. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivenmodel.h"
#include "unit/lib/rows.h"

#define ALL_PAGES (MODEL_SPACES * MODEL_PAGES)
#define HOT_PAGES (MODEL_PAGES / 10)
#define SAMPLES 20000 /* in a phase */

static struct model model;

/* A tenth of each space gets 90 % of the accesses. `data` points to its first page. */
static double hot_tenth(const void *data, unsigned space, uint64_t page, double *store)
{
    uint64_t first = *(const uint64_t *)data;
    (void)space;
    *store = 0.3;
    return page >= first && page < first + HOT_PAGES ? 81 : 1;
}

static double uniform(const void *data, unsigned space, uint64_t page, double *store)
{
    (void)data, (void)space, (void)page;
    *store = 0.3;
    return 1;
}

/* Two tenths are equally hot: the first one is only read, the second one mostly written. */
static double write_hot(const void *data, unsigned space, uint64_t page, double *store)
{
    (void)data, (void)space;
    uint64_t tenth = page / HOT_PAGES;
    *store = tenth == 5 ? 0.8 : 0;
    return tenth == 3 || tenth == 5 ? 40 : 1;
}

static void fill_fast(uint64_t first, uint64_t n)
{
    for (unsigned space = 0; space < model.n_spaces; space++)
        for (uint64_t page = first; page < first + n; page++) {
            model.is_fast[space][page] = true;
            model.used++;
        }
}

static void test_hot_tenth_is_found_and_followed(void **state)
{
    (void)state;
    static const uint64_t firsts[] = {12000, 4000, 16000, 9000};
    model_begin(&model, "regions", MODEL_SPACES, ALL_PAGES * 12 / 100);
    fill_fast(0, MODEL_PAGES * 12 / 100);
    for (size_t i = 0; i < N_ROWS(firsts); i++) {
        for (int phase = 0; phase < 2; phase++)
            model_phase(&model, SAMPLES, hot_tenth, &firsts[i], UINT64_MAX);
        if (model_share(&model, hot_tenth, &firsts[i]) < 0.85)
            fail_msg("only %.2f of the heat is in the fast tier after the hot tenth moved to %lu",
                     model_share(&model, hot_tenth, &firsts[i]), (unsigned long)firsts[i]);
        for (int phase = 0; phase < 5; phase++)
            model_phase(&model, SAMPLES, hot_tenth, &firsts[i], UINT64_MAX);
    }
    model_end(&model);
}

/* What is hot in one phase is cold in the next. So after a few phases next to nothing is moved, until the heat stays in
 * one place. */
static void test_heat_that_wanders_is_not_chased(void **state)
{
    (void)state;
    uint64_t first = 0, moved = 0;
    model_begin(&model, "regions", MODEL_SPACES, ALL_PAGES * 12 / 100);
    fill_fast(0, MODEL_PAGES * 12 / 100);
    for (int phase = 0; phase < 24; phase++) {
        first = (uint64_t)(phase * 3 % 10) * HOT_PAGES;
        model_phase(&model, SAMPLES, hot_tenth, &first, UINT64_MAX);
        moved += phase < 4 ? 0 : model.moved;
    }
    assert_true(moved < model.capacity / 10);
    for (int phase = 0; phase < 8; phase++)
        model_phase(&model, SAMPLES, hot_tenth, &first, UINT64_MAX);
    assert_true(model_share(&model, hot_tenth, &first) > 0.85);
    model_end(&model);
}

/* Of the first 90 % of each space, a half gets nearly all accesses: `data` points to its number. */
static double hot_half(const void *data, unsigned space, uint64_t page, double *store)
{
    const uint64_t half = MODEL_PAGES * 45 / 100;
    (void)space;
    *store = 0.3;
    return page >= 2 * half ? 0 : page / half == *(const unsigned *)data ? 50 : 1;
}

/* The same, and the last tenth is always hotter. */
static double hot_half_and_tenth(const void *data, unsigned space, uint64_t page, double *store)
{
    double heat = hot_half(data, space, page, store);
    return heat > 0 ? heat : 150;
}

/*
 * Halves are hot in turn, and gains come true for a phase before they turn into losses. So pages stay, and the fast
 * tier serves nearly as much of them as if none had ever moved, also where what always gains is moved. When one half
 * stays hot, it comes up after a while.
 */
static void test_heat_that_comes_and_goes(void **state)
{
    (void)state;
    enum { PHASES = 60, SETTLED = 24 };
    static const struct {
        unsigned turn;
        model_heat *heat;
        double least; /* without moves 0.5; 0.44 where the last tenth has come up */
    } rows[] = {{2, hot_half, 0.45}, {3, hot_half, 0.45}, {2, hot_half_and_tenth, 0.4}, {3, hot_half_and_tenth, 0.4}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        unsigned half = 0;
        double served = 0;
        model_begin(&model, "regions", MODEL_SPACES, ALL_PAGES / 2);
        fill_fast(0, MODEL_PAGES / 2);
        for (unsigned phase = 0; phase < PHASES; phase++) {
            half = phase / rows[i].turn % 2;
            served += model_share(&model, hot_half, &half) / PHASES;
            model_phase(&model, SAMPLES, rows[i].heat, &half, UINT64_MAX);
        }
        half = 1;
        for (unsigned phase = 0; phase < SETTLED; phase++)
            model_phase(&model, SAMPLES, rows[i].heat, &half, UINT64_MAX);
        double settled = model_share(&model, rows[i].heat, &half);
        if (served < rows[i].least || settled < 0.9)
            fail_msg("row %zu: the fast tier served %.2f, and then %.2f", i, served, settled);
        model_end(&model);
    }
}

static void test_uniform_access_moves_nothing(void **state)
{
    (void)state;
    uint64_t moved = 0;
    model_begin(&model, "regions", MODEL_SPACES, ALL_PAGES / 4);
    fill_fast(0, MODEL_PAGES / 4);
    for (int phase = 0; phase < 20; phase++) {
        model_phase(&model, SAMPLES, uniform, NULL, UINT64_MAX);
        moved += model.moved;
    }
    model_end(&model);
    assert_true(moved < ALL_PAGES / 100);
}

static void test_writes_win(void **state)
{
    (void)state;
    model_begin(&model, "regions", 1, HOT_PAGES);
    fill_fast(0, HOT_PAGES);
    for (int phase = 0; phase < 6; phase++)
        model_phase(&model, SAMPLES, write_hot, NULL, UINT64_MAX);
    uint64_t written = 0;
    for (uint64_t page = 5 * HOT_PAGES; page < 6 * HOT_PAGES; page++)
        written += model.is_fast[0][page];
    model_end(&model);
    assert_true(written > HOT_PAGES * 95 / 100);
}

static void test_cap_holds_and_takes_the_coldest(void **state)
{
    (void)state;
    uint64_t first = 2000;
    model_begin(&model, "regions", 2, 2 * HOT_PAGES);
    fill_fast(0, 8000);
    model_phase(&model, SAMPLES, hot_tenth, &first, UINT64_MAX);
    assert_int_equal(model.used, model.capacity);
    assert_true(model_share(&model, hot_tenth, &first) > 0.85);
    model_end(&model);
}

/* The budget leaves so few pages for exchanges that these are dropped. The demotions for the cap are not dropped. */
static void test_cap_holds_where_all_other_moves_are_noise(void **state)
{
    (void)state;
    uint64_t first = 12000;
    model_begin(&model, "regions", MODEL_SPACES, ALL_PAGES * 12 / 100);
    fill_fast(0, MODEL_PAGES * 12 / 100);
    for (int phase = 0; phase < 3; phase++)
        model_phase(&model, SAMPLES, hot_tenth, &first, 0);
    for (int phase = 0; phase < 5; phase++) {
        model.capacity -= 5;
        model_phase(&model, SAMPLES, hot_tenth, &first, 9);
        assert_int_equal(model.used, model.capacity);
    }
    model_end(&model);
}

static void test_budget_holds(void **state)
{
    (void)state;
    uint64_t first = 12000;
    model_begin(&model, "regions", 1, HOT_PAGES);
    fill_fast(0, HOT_PAGES);
    for (int phase = 0; phase < 4; phase++) {
        model_phase(&model, SAMPLES, hot_tenth, &first, 101); /* model_phase checks the budget */
        assert_true(model.used <= model.capacity);
        assert_true(phase == 0 || model.moved == 100);
    }
    model_end(&model);
}

/* The migrator plans for what is paid for, and for an advance (live/planning.c). */
static void test_another_plan_before_changes_nothing(void **state)
{
    (void)state;
    static struct model other;
    static const uint64_t firsts[] = {12000, 4000};
    for (int twice = 0; twice < 2; twice++) {
        model_begin(&model, "regions", MODEL_SPACES, ALL_PAGES * 12 / 100);
        fill_fast(0, MODEL_PAGES * 12 / 100);
        model.plans_twice = twice;
        for (int phase = 0; phase < 6; phase++)
            model_phase(&model, SAMPLES, hot_tenth, &firsts[phase / 3], 1000);
        model_end(&model);
        other = twice ? other : model;
    }
    assert_memory_equal(model.is_fast, other.is_fast, sizeof(model.is_fast));
}

static void test_free_room_is_filled(void **state)
{
    (void)state;
    uint64_t first = 12000;
    model_begin(&model, "regions", 1, HOT_PAGES + 100);
    model_phase(&model, SAMPLES, hot_tenth, &first, UINT64_MAX);
    assert_true(model.promoted > HOT_PAGES * 95 / 100);
    assert_int_equal(model.demoted, 0);
    model_end(&model);
}

/* Observations as from DAMON: ranges, fractions of samples, reads and writes not told apart. */
static void test_ranges(void **state)
{
    (void)state;
    size_t n;
    const struct hm_observation seen[] = {
        {.page = HM_PAGE(3, UINT64_C(1000000)), .n_pages = 500000, .reads = 5000.5F},
        {.page = HM_PAGE(3, UINT64_C(3000000)), .n_pages = 9000, .reads = 9000.25F},
    };
    model_begin(&model, "regions", 1, HOT_PAGES);
    for (int phase = 0; phase < 3; phase++) {
        hm_decider_observe(model.decider, seen, 2);
        hm_decider_end_phase(model.decider);
    }
    struct hm_extent *extent = hm_decider_extents(model.decider, &n), *hottest = extent;
    uint64_t hot_pages = 0;
    double sum = 0;
    uint64_t end = HM_PAGE(3, UINT64_C(0));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(extent[i].first, end); /* no hole */
        end = extent[i].first + extent[i].n_pages;
        sum += extent[i].reads + extent[i].writes;
        hottest = extent[i].priority > hottest->priority ? &extent[i] : hottest;
    }
    assert_int_equal(end, HM_PAGE(4, UINT64_C(0)));
    assert_true(sum > 13500 && sum < 14500);
    assert_true(hottest->first >= HM_PAGE(3, UINT64_C(2990000)) && hottest->first < HM_PAGE(3, UINT64_C(3001000)));
    for (size_t i = 0; i < n; i++)
        hot_pages += extent[i].priority > hottest->priority / 2 ? extent[i].n_pages : 0;
    assert_true(hot_pages > 8000 && hot_pages < 20000);
    model_end(&model);
}

static void test_what_is_forgotten_is_gone(void **state)
{
    (void)state;
    size_t n;
    uint64_t first = 12000;
    model_begin(&model, "regions", 2, HOT_PAGES);
    model_phase(&model, SAMPLES, hot_tenth, &first, UINT64_MAX);
    hm_decider_forget(model.decider, &(struct hm_gone){HM_PAGE(0, UINT64_C(0)), UINT64_C(1) << HM_PAGE_BITS}, 1);
    hm_decider_end_phase(model.decider);
    const struct hm_extent *extent = hm_decider_extents(model.decider, &n);
    assert_true(n > 0);
    assert_int_equal(HM_PAGE_SPACE(extent[0].first), 1);
    hm_decider_forget(model.decider, &(struct hm_gone){0, UINT64_MAX}, 1);
    hm_decider_end_phase(model.decider);
    hm_decider_extents(model.decider, &n);
    assert_int_equal(n, 0);
    model_end(&model);
}

/* What is forgotten together is what is forgotten one after the other. */
static void test_spans_are_forgotten_together(void **state)
{
    (void)state;
    static struct hm_extent kept[1000];
    struct hm_gone gone[100];
    size_t n_kept = 0, n;
    uint64_t first = 12000;
    for (size_t i = 0; i < N_ROWS(gone); i++) /* in two spaces; some touch each other */
        gone[i] = (struct hm_gone){HM_PAGE(i / 50, MODEL_BASE + i % 50 * 300), 100 + i % 3 * 100};
    for (size_t together = 1; together <= N_ROWS(gone); together += N_ROWS(gone) - 1) {
        model_begin(&model, "regions", 2, HOT_PAGES);
        model_phase(&model, SAMPLES, hot_tenth, &first, UINT64_MAX);
        for (size_t i = 0; i < N_ROWS(gone); i += together)
            hm_decider_forget(model.decider, gone + i, together);
        hm_decider_end_phase(model.decider);
        const struct hm_extent *extent = hm_decider_extents(model.decider, &n);
        assert_in_range(n, 1, N_ROWS(kept));
        for (size_t i = 0; i < n && together > 1; i++) {
            assert_int_equal(extent[i].first, kept[i].first);
            assert_int_equal(extent[i].n_pages, kept[i].n_pages);
            assert_true(fabs(extent[i].reads - kept[i].reads) < 1e-6);
        }
        assert_true(together == 1 || n == n_kept);
        memcpy(kept, extent, n * sizeof(*extent));
        n_kept = n;
        model_end(&model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hot_tenth_is_found_and_followed),
        cmocka_unit_test(test_heat_that_wanders_is_not_chased),
        cmocka_unit_test(test_heat_that_comes_and_goes),
        cmocka_unit_test(test_uniform_access_moves_nothing),
        cmocka_unit_test(test_writes_win),
        cmocka_unit_test(test_cap_holds_and_takes_the_coldest),
        cmocka_unit_test(test_cap_holds_where_all_other_moves_are_noise),
        cmocka_unit_test(test_budget_holds),
        cmocka_unit_test(test_another_plan_before_changes_nothing),
        cmocka_unit_test(test_free_room_is_filled),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_what_is_forgotten_is_gone),
        cmocka_unit_test(test_spans_are_forgotten_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
