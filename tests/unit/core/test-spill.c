/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the spill model: bandwidths, the best share, and weights (core/plan/model.h explains bw0, m0 and w0). */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/plan/model.h"
#include "unit/lib/rows.h"

static void test_bad_input(void **state)
{
    static const struct {
        double bw0, bw1, m0;
    } rows[] = {{0, 1, .5},  {1, 0, .5},   {-1, 1, .5},  {1, -1, .5}, {1, 1, -.1},
                {1, 1, 1.1}, {NAN, 1, .5}, {1, NAN, .5}, {1, 1, NAN}};
    uint8_t w0, w1;
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_float_equal(hm_spill_bandwidth(HM_CHANNELS_SHARED, rows[i].bw0, rows[i].bw1, rows[i].m0), -1, 0);
        assert_float_equal(hm_spill_bandwidth(HM_CHANNELS_SEPARATE, rows[i].bw0, rows[i].bw1, rows[i].m0), -1, 0);
    }
    assert_float_equal(hm_spill_best_share(HM_CHANNELS_SEPARATE, 0, 1), -1, 0);
    assert_float_equal(hm_spill_best_share(HM_CHANNELS_SHARED, 1, NAN), -1, 0);
    for (int i = 0; i < 4; i++) {
        errno = 0;
        assert_int_equal(hm_spill_weights(i == 0 ? 0 : 1, i == 1 ? NAN : 1, i == 2 ? 0 : 1, i == 3 ? -1 : 1, &w0, &w1),
                         -1);
        assert_int_equal(errno, EINVAL);
    }
    assert_int_equal(hm_spill_weights(INFINITY, INFINITY, 1, 1, &w0, &w1), -1);
}

static void test_bandwidth(void **state)
{
    static const struct {
        enum hm_channels channels;
        double bw0, bw1, m0, wanted;
    } rows[] = {
        {HM_CHANNELS_SHARED, 204, 78, 1, 204},     {HM_CHANNELS_SHARED, 204, 78, 0, 78},
        {HM_CHANNELS_SHARED, 204, 78, .5, 112.85}, {HM_CHANNELS_SEPARATE, 300, 100, 1, 300},
        {HM_CHANNELS_SEPARATE, 300, 100, 0, 100},  {HM_CHANNELS_SEPARATE, 300, 100, .75, 400},
        {HM_CHANNELS_SEPARATE, 300, 100, .5, 200},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++)
        assert_float_equal(hm_spill_bandwidth(rows[i].channels, rows[i].bw0, rows[i].bw1, rows[i].m0), rows[i].wanted,
                           0.01);
}

/* The figures of Peng et al.: 204 and 78 GB/s, 168 GB of DRAM; jobs of 1 TB and more get 76 to 97 GB/s. */
static void test_published_figures(void **state)
{
    double last = 97;
    (void)state;
    for (double size = 1000; size <= 3072; size += 64) {
        double now = hm_spill_bandwidth(HM_CHANNELS_SHARED, 204000, 78000, 168 / size) / 1000;
        assert_true(now >= 76 && now < last);
        last = now;
    }
    assert_float_equal(hm_spill_bandwidth(HM_CHANNELS_SHARED, 204000, 78000, 168. / 1024), 86791, 20);
}

/* No other share is better than the one called the best. */
static void test_best_share(void **state)
{
    static const enum hm_channels kinds[] = {HM_CHANNELS_SHARED, HM_CHANNELS_SEPARATE};
    (void)state;
    assert_float_equal(hm_spill_best_share(HM_CHANNELS_SHARED, 204, 78), 1, 0);
    assert_float_equal(hm_spill_best_share(HM_CHANNELS_SEPARATE, 300, 100), .75, 1e-12);
    for (size_t i = 0; i < N_ROWS(kinds); i++) {
        double best = hm_spill_bandwidth(kinds[i], 213, 61, hm_spill_best_share(kinds[i], 213, 61));
        for (int percent = 0; percent <= 100; percent++)
            assert_true(hm_spill_bandwidth(kinds[i], 213, 61, percent / 100.) <= best + 1e-9);
    }
}

static void test_weights(void **state)
{
    static const struct {
        double bw0, bw1;
        int n0, n1;
        uint8_t w0, w1;
    } rows[] = {
        {100, 100, 1, 1, 1, 1}, {300, 100, 1, 1, 3, 1},  {100, 300, 1, 1, 1, 3},  {300, 100, 2, 1, 3, 2},
        {204, 78, 2, 2, 21, 8}, {1000, 1, 1, 1, 255, 1}, {1, 1000, 1, 1, 1, 255}, {560000, 56000, 2, 1, 5, 1},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uint8_t w0 = 0, w1 = 0;
        assert_int_equal(hm_spill_weights(rows[i].bw0, rows[i].bw1, rows[i].n0, rows[i].n1, &w0, &w1), 0);
        assert_int_equal(w0, rows[i].w0);
        assert_int_equal(w1, rows[i].w1);
    }
}

/* For ratios of bandwidths from 1:50 to 50:1, the share (0 to 1) differs from the wanted one by 0.01 at most. */
static void test_weights_are_near(void **state)
{
    (void)state;
    for (double ratio = .02; ratio < 50; ratio *= 1.037) {
        for (int n0 = 1; n0 <= 4; n0++) {
            uint8_t w0 = 0, w1 = 0;
            assert_int_equal(hm_spill_weights(ratio, 1, n0, 2, &w0, &w1), 0);
            double share = (double)n0 * w0 / (n0 * w0 + 2. * w1);
            assert_float_equal(share, ratio / (ratio + 1), 0.01);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_input),  cmocka_unit_test(test_bandwidth), cmocka_unit_test(test_published_figures),
        cmocka_unit_test(test_best_share), cmocka_unit_test(test_weights),   cmocka_unit_test(test_weights_are_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
