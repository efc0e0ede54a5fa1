/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivenmodel.h"
#include "helpers/migrator/segments.h"

#define ALL_PAGES (MODEL_SPACES * MODEL_PAGES)
#define HOT_PAGES (MODEL_PAGES / 10)
#define SAMPLES 20000 /* of a phase */

static struct model model;

/* A tenth of each space gets 90 % of the accesses. `data`: its first page. */
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

/* Two tenths of equal heat: the first one read, the second one written. */
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
    for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
        for (int phase = 0; phase < 2; phase++)
            model_phase(&model, SAMPLES, hot_tenth, &firsts[i], UINT64_MAX);
        if (model_share(&model, hot_tenth, &firsts[i]) < 0.85)
            fail_msg("only %.2f is served after the hot tenth moved to %lu", model_share(&model, hot_tenth, &firsts[i]),
                     (unsigned long)firsts[i]);
        for (int phase = 0; phase < 5; phase++)
            model_phase(&model, SAMPLES, hot_tenth, &firsts[i], UINT64_MAX);
    }
    model_end(&model);
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

static void test_budget_holds(void **state)
{
    (void)state;
    uint64_t first = 12000;
    model_begin(&model, "regions", 1, HOT_PAGES);
    fill_fast(0, HOT_PAGES);
    for (int phase = 0; phase < 4; phase++) {
        model_phase(&model, SAMPLES, hot_tenth, &first, 101); /* model_phase checks */
        assert_true(model.used <= model.capacity);
        assert_true(phase == 0 || model.moved == 100);
    }
    model_end(&model);
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

/* DAMON's way: ranges, fractions, kind not known. */
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
    struct hm_region *region = hm_decider_regions(model.decider, &n), *hottest = region;
    double sum = 0;
    uint64_t end = HM_PAGE(3, UINT64_C(0));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(region[i].first, end); /* no hole */
        end = region[i].first + region[i].n_pages;
        sum += region[i].reads + region[i].writes;
        hottest = region[i].priority > hottest->priority ? &region[i] : hottest;
    }
    assert_int_equal(end, HM_PAGE(4, UINT64_C(0)));
    assert_true(sum > 13500 && sum < 14500);
    assert_true(hottest->first >= HM_PAGE(3, UINT64_C(2990000)) && hottest->first < HM_PAGE(3, UINT64_C(3001000)));
    assert_true(hottest->n_pages > 8000 && hottest->n_pages < 20000);
    model_end(&model);
}

static void test_what_is_forgotten_is_gone(void **state)
{
    (void)state;
    size_t n;
    uint64_t first = 12000;
    model_begin(&model, "regions", 2, HOT_PAGES);
    model_phase(&model, SAMPLES, hot_tenth, &first, UINT64_MAX);
    hm_decider_forget(model.decider, HM_PAGE(0, UINT64_C(0)), UINT64_C(1) << HM_PAGE_BITS);
    hm_decider_end_phase(model.decider);
    const struct hm_region *region = hm_decider_regions(model.decider, &n);
    assert_true(n > 0);
    assert_int_equal(HM_PAGE_SPACE(region[0].first), 1);
    hm_decider_forget(model.decider, 0, UINT64_MAX);
    hm_decider_end_phase(model.decider);
    hm_decider_regions(model.decider, &n);
    assert_int_equal(n, 0);
    model_end(&model);
}

static void test_logarithm(void **state)
{
    (void)state;
    static const double rows[][2] = {{1, 0},
                                     {2, 0.693147180559945309},
                                     {10, 2.302585092994045684},
                                     {1e-12, -27.63102111592854821},
                                     {7e13, 31.87951636}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_true(hm_segments_log(rows[i][0]) - rows[i][1] < 1e-7 && rows[i][1] - hm_segments_log(rows[i][0]) < 1e-7);
    /* 10 against 1 of the same exposure: 11 ln 2 - 11 ln 11 + 10 ln 10 */
    assert_true(hm_segments_loss(10, 1, 1, 1) > 4.27 && hm_segments_loss(10, 1, 1, 1) < 4.28);
    assert_true(hm_segments_loss(5, 1, 50, 10) < 1e-6);
}

static void test_borders_come_out_exactly(void **state)
{
    (void)state;
    static struct hm_segment segment[2 * 300 - 1];
    memset(segment, 0, sizeof(segment));
    for (size_t i = 0; i < 300; i++)
        segment[i] = (struct hm_segment){
            .first = i, .n_pages = 1, .exposure = 10, .reads = i >= 100 && i < 130 ? 50 : 1, .writes = i % 2};
    hm_segments_estimate(segment, 300);
    for (size_t i = 0; i < 300; i++) {
        bool is_hot = i >= 100 && i < 130;
        assert_true(is_hot ? segment[i].read_density > 4.5 : segment[i].read_density < 0.2);
        assert_true(segment[i].write_density > 0.03 && segment[i].write_density < 0.08);
    }
    hm_segments_estimate(segment, 1); /* one alone */
    assert_true(segment[0].read_density > 0.09 && segment[0].read_density < 0.11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logarithm),
        cmocka_unit_test(test_borders_come_out_exactly),
        cmocka_unit_test(test_hot_tenth_is_found_and_followed),
        cmocka_unit_test(test_uniform_access_moves_nothing),
        cmocka_unit_test(test_writes_win),
        cmocka_unit_test(test_cap_holds_and_takes_the_coldest),
        cmocka_unit_test(test_budget_holds),
        cmocka_unit_test(test_free_room_is_filled),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_what_is_forgotten_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
