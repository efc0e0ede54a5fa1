/* SPDX-License-Identifier: Apache-2.0 */
/* Tests tiers under load: the curve of a tier, what traffic costs on two of them, and the best share of the fast one.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/load/balance.h"
#include "unit/lib/rows.h"

#define STEPS 4000 /* of a search by brute force */

static struct hm_curve curve_of(size_t n, const struct hm_curve_point *point)
{
    struct hm_curve curve = {.n = 0};
    for (size_t i = 0; i < n; i++)
        assert_int_equal(hm_curve_add(&curve, point[i].traffic_gbs, point[i].latency_ns, NULL), 0);
    return curve;
}

#define CURVE(...)                                                                                                     \
    curve_of(sizeof((struct hm_curve_point[]){__VA_ARGS__}) / sizeof(struct hm_curve_point),                           \
             (struct hm_curve_point[]){__VA_ARGS__})

static struct hm_curve peak(double idle_ns, double peak_gbs)
{
    struct hm_curve curve;
    assert_int_equal(hm_curve_of_peak(&curve, idle_ns, peak_gbs, NULL), 0);
    return curve;
}

static void test_a_curve_is_linear_between_points(void **state)
{
    static const struct {
        double gbs, ns;
    } rows[] = {{0, 80}, {5, 80}, {10, 80}, {30, 90}, {50, 100}, {75, 150}, {100, 200}, {200, 400}, {1000, 2000}};
    struct hm_curve curve = CURVE({10, 80}, {50, 100}, {100, 200});
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++)
        assert_float_equal(hm_curve_latency(&curve, rows[i].gbs), rows[i].ns, 1e-9);
    assert_float_equal(hm_curve_idle_ns(&curve), 80, 0);
    assert_float_equal(hm_curve_most_gbs(&curve), 100, 0);
}

static void test_bad_points(void **state)
{
    static const struct {
        double gbs, ns;
    } rows[] = {{-1, 90}, {10, 90}, {9, 90}, {20, 79}, {20, 0}, {NAN, 90}, {20, NAN}, {2e6, 90}, {20, 2e6}};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_curve curve = CURVE({10, 80});
        errno = 0;
        assert_int_equal(hm_curve_add(&curve, rows[i].gbs, rows[i].ns, NULL), -1);
        assert_int_equal(errno, EINVAL);
        assert_int_equal(curve.n, 1);
    }
    struct hm_curve curve = {.n = 0};
    for (int i = 0; i < HM_CURVE_POINTS; i++)
        assert_int_equal(hm_curve_add(&curve, i, 80, NULL), 0);
    assert_int_equal(hm_curve_add(&curve, 1000, 80, NULL), -1);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(hm_curve_of_peak(&curve, 80, 0, NULL), -1);
    assert_int_equal(hm_curve_of_peak(&curve, 0, 100, NULL), -1);
    assert_int_equal(hm_curve_of_peak(&curve, 80, NAN, NULL), -1);
}

/* The values of the formula that curve.h gives: at 95 % of the peak, 10.5 times the idle latency. */
static void test_the_formula(void **state)
{
    struct hm_curve curve = peak(100, 200);
    (void)state;
    for (int percent = 0; percent <= 95; percent++) {
        double u = percent / 100.0, expected = 100 * (1 + u / (2 * (1 - u)));
        double got = hm_curve_latency(&curve, 200 * u);
        if (got < expected * (1 - 1e-9) || got > expected * 1.003)
            fail_msg("at %d %%: %g ns, not %g", percent, got, expected);
    }
    assert_float_equal(hm_curve_latency(&curve, 190), 1050, 1e-6);
    assert_float_equal(hm_curve_latency(&curve, 380), 2100, 1e-6);
}

static void test_channels(void **state)
{
    struct hm_load load = {HM_CHANNELS_SEPARATE, CURVE({0, 100}, {100, 200}), CURVE({0, 300}, {50, 500})};
    struct hm_load_latencies got = hm_load_latencies(&load, 50, 10);
    (void)state;
    assert_float_equal(got.fast_ns, 150, 1e-9);
    assert_float_equal(got.slow_ns, 340, 1e-9);
    assert_float_equal(hm_load_cost(&load, 50, 10), 50 * 150 + 10 * 340, 1e-9);
    load.channels = HM_CHANNELS_SHARED; /* the channels are busy for 50/100 + 10/50 of the time */
    got = hm_load_latencies(&load, 50, 10);
    assert_float_equal(got.fast_ns, 170, 1e-9);
    assert_float_equal(got.slow_ns, 440, 1e-9);
}

static void expect_best(const struct hm_load *load, double total, double most)
{
    double got = hm_load_best(load, total, most), limit = most < total ? most : total, least = INFINITY;
    for (int i = 0; i <= STEPS; i++) {
        double fast = limit * i / STEPS;
        least = fmin(least, hm_load_cost(load, fast, total - fast));
    }
    double cost = hm_load_cost(load, got, total - got);
    if (!(got >= 0 && got <= limit) || cost > least * (1 + 1e-9))
        fail_msg("%g GB/s, at most %g fast: %g fast cost %.9g, not %.9g", total, most, got, cost, least);
}

/* No other share of STEPS + 1 is better: for curves of both kinds, also with steps, with all channels and loads. */
static void test_the_best_share_by_brute_force(void **state)
{
    const struct hm_load loads[] = {
        {HM_CHANNELS_SEPARATE, peak(80, 213), peak(300, 79.9)},
        {HM_CHANNELS_SHARED, peak(80, 213), peak(300, 79.9)},
        {HM_CHANNELS_SEPARATE, CURVE({0, 90}, {60, 100}, {90, 180}, {100, 400}), CURVE({0, 200}, {20, 220}, {30, 600})},
        {HM_CHANNELS_SHARED, CURVE({0, 90}, {60, 100}, {90, 180}, {100, 400}), CURVE({0, 200}, {20, 220}, {30, 600})},
        {HM_CHANNELS_SEPARATE, CURVE({0, 90}, {10, 300}, {80, 310}), CURVE({0, 100}, {10, 350}, {100, 360})},
        {HM_CHANNELS_SHARED, CURVE({0, 90}, {10, 300}, {80, 310}), CURVE({0, 100}, {10, 350}, {100, 360})},
        {HM_CHANNELS_SEPARATE, peak(130, 400), peak(100, 100)}, /* HBM: more bandwidth, not less latency */
        {HM_CHANNELS_SHARED, peak(100, 100), peak(300, 100)},
        {HM_CHANNELS_SEPARATE, CURVE({100, 80}), CURVE({50, 200})},
    };
    static const double totals[] = {1e-6, 10, 60, 100, 170, 290, 1000};
    (void)state;
    for (size_t i = 0; i < N_ROWS(loads); i++)
        for (size_t j = 0; j < N_ROWS(totals); j++)
            for (int percent = 0; percent <= 100; percent += 20)
                expect_best(&loads[i], totals[j], totals[j] * percent / 100);
}

static void test_the_best_share(void **state)
{
    struct hm_load load = {HM_CHANNELS_SEPARATE, peak(100, 100), peak(100, 100)};
    (void)state;
    assert_float_equal(hm_load_best(&load, 80, 80), 40, 1e-6); /* equal tiers: equal latencies */
    load.slow = peak(300, 100);
    assert_float_equal(hm_load_best(&load, 1, 1), 1, 0); /* no load: all in the fast tier */
    double best = hm_load_best(&load, 90, 90);
    assert_true(best > 50 && best < 80);                    /* load: a part of it */
    assert_float_equal(hm_load_best(&load, 90, 20), 20, 0); /* as much as there is room for */
    load.channels = HM_CHANNELS_SHARED;
    load.fast = peak(100, 200);
    assert_float_equal(hm_load_best(&load, 90, 90), 90, 0); /* shared channels: the fast tier first */
}

/* Where both latencies are equal the cost is not the least: with these curves it is 1.4 times as much. */
static void test_equal_latencies_cost_more(void **state)
{
    const struct hm_load load = {HM_CHANNELS_SEPARATE, CURVE({0, 100}, {50, 115}, {75, 150}, {90, 220}, {100, 400}),
                                 CURVE({0, 250}, {60, 300}, {80, 400}, {90, 700})};
    double total = 100, low = 0, high = total, best = hm_load_best(&load, total, total);
    (void)state;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        struct hm_load_latencies now = hm_load_latencies(&load, middle, total - middle);
        low = now.fast_ns < now.slow_ns ? middle : low;
        high = now.fast_ns < now.slow_ns ? high : middle;
    }
    double ratio = hm_load_cost(&load, low, total - low) / hm_load_cost(&load, best, total - best);
    assert_true(ratio > 1.4 && ratio < 1.45);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_curve_is_linear_between_points),
        cmocka_unit_test(test_bad_points),
        cmocka_unit_test(test_the_formula),
        cmocka_unit_test(test_channels),
        cmocka_unit_test(test_the_best_share_by_brute_force),
        cmocka_unit_test(test_the_best_share),
        cmocka_unit_test(test_equal_latencies_cost_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
