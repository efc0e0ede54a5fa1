/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the balance of two tiers as a closed loop: a simulated program has so many accesses under way at a time, so its
 * traffic depends on the latencies, these on the traffic, and both on where the pages are.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "base/random.h"
#include "drivenmodel.h"
#include "migrator/decide/loadshare.h"
#include "unit/lib/rows.h"

#define PHASES 40
#define SETTLED 20 /* phases after which the placement is judged */
#define PHASE_S 1.0
#define PERIOD 131072.0
#define LINES (4096.0 / HM_LINE_BYTES) /* of a page */

struct row {
    const char *name;
    enum hm_channels channels;
    double under_way; /* bytes of the accesses under way */
    bool begins_fast; /* all pages begin in the fast tier; else all in the slow one */
    double noise;     /* share by which the measured traffic is off, at most */
};

static const struct row rows[] = {
    {"light", HM_CHANNELS_SEPARATE, 5e3, false, 0},
    {"the fast tier is nearly used up", HM_CHANNELS_SEPARATE, 6e4, true, 0},
    {"used up", HM_CHANNELS_SEPARATE, 1.5e5, true, 0},
    {"used up, from the slow tier", HM_CHANNELS_SEPARATE, 1.5e5, false, 0},
    {"used up, badly measured", HM_CHANNELS_SEPARATE, 1.5e5, true, 0.2},
    {"shared channels", HM_CHANNELS_SHARED, 1.5e5, false, 0},
};

/* Blocks of 16 pages with heat by Zipf's law, scattered. */
static double heat_of(const void *data, unsigned space, uint64_t page, double *store)
{
    uint64_t block = page / 16, rank = block * 769 % (MODEL_PAGES / 16);
    (void)data, (void)space;
    *store = 0;
    return 1 / (10 + (double)rank);
}

/* The traffic in GB/s at which so many bytes are under way (Little's law: GB/s times ns are bytes). */
static double traffic_of(const struct hm_load *load, double fast, double under_way)
{
    double low = 0, high = 1e4;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (hm_load_cost(load, middle * fast, middle * (1 - fast)) < under_way)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static double most_traffic(const struct hm_load *load, double under_way)
{
    double most = 0;
    for (int i = 0; i <= 200; i++)
        most = fmax(most, traffic_of(load, i / 200.0, under_way));
    return most;
}

static void test_it_settles_near_the_most_traffic(void **state)
{
    static struct model model;
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_load load = {.channels = rows[i].channels};
        struct hm_heat_share share = {.served = 0.5, .told = 0.5};
        struct hm_loadshare seen = {0};
        struct hm_random random = {7};
        assert_int_equal(hm_curve_of_peak(&load.fast, 100, 240, NULL), 0);
        assert_int_equal(hm_curve_of_peak(&load.slow, 250, 100, NULL), 0);
        model_begin_at(&model, PERIOD, 0, false, 1, MODEL_PAGES);
        model.share = &share;
        for (uint64_t page = 0; page < MODEL_PAGES && rows[i].begins_fast; page++, model.used++)
            model.is_fast[0][page] = true;
        double best = most_traffic(&load, rows[i].under_way), least = 1, most = 0, moved = 0;
        for (int phase = 0; phase < PHASES; phase++) {
            double fast = model_share(&model, heat_of, NULL);
            double traffic = traffic_of(&load, fast, rows[i].under_way);
            double off = 1 + rows[i].noise * (2 * hm_random_share(&random) - 1);
            hm_loadshare_add(&seen, traffic * fast * off, traffic * (1 - fast) * off);
            hm_loadshare_tell(&seen, &load, LINES, &share);
            if (phase >= SETTLED) {
                if (traffic < 0.95 * best)
                    fail_msg("%s: phase %d: %.1f of %.1f GB/s with %.3f in the fast tier", rows[i].name, phase, traffic,
                             best, fast);
                least = fmin(least, fast);
                most = fmax(most, fast);
                moved += (double)model.moved;
            }
            model_phase(&model, (unsigned)(traffic * 1e9 * PHASE_S / HM_LINE_BYTES / PERIOD), heat_of, NULL,
                        UINT64_MAX);
        }
        if (most - least > 0.05 || moved > 0.001 * MODEL_PAGES * (PHASES - SETTLED))
            fail_msg("%s: it swings from %.3f to %.3f, and moves %.0f pages", rows[i].name, least, most, moved);
        model_end(&model);
    }
}

/* The mean over these phases, the last one first, with weights of 1, 0.9, 0.9 * 0.9 and so on. */
static double mean_latency(const struct hm_load *load, const double *all, double share)
{
    double sum = 0, weights = 0;
    for (int i = 0; i < HM_LOADSHARE_PHASES; i++) {
        double weight = all[i] > 0 ? pow(0.9, i) : 0;
        sum += all[i] > 0 ? weight * hm_load_cost(load, share * all[i], (1 - share) * all[i]) / all[i] : 0;
        weights += weight;
    }
    return sum / weights;
}

/* By brute force, over phases of any traffic; none counts that is older than the last five. */
static void test_the_best_share_is_that_of_all_phases(void **state)
{
    static const double phases[][HM_LOADSHARE_PHASES] = {{300, 300, 300, 300, 300},
                                                         {300, 50, 300, 50, 300},
                                                         {0, 0, 320, 0, 0},
                                                         {1, 1, 1, 1, 300},
                                                         {20, 280, 0, 150, 90}};
    struct hm_load load = {.channels = HM_CHANNELS_SEPARATE};
    (void)state;
    assert_int_equal(hm_curve_of_peak(&load.fast, 100, 240, NULL), 0);
    assert_int_equal(hm_curve_of_peak(&load.slow, 250, 100, NULL), 0);
    for (size_t i = 0; i < N_ROWS(phases); i++) {
        struct hm_heat_share share = {0};
        struct hm_loadshare seen = {0};
        double least = INFINITY;
        hm_loadshare_add(&seen, 0, 1000);
        for (int k = HM_LOADSHARE_PHASES; k-- > 0;)
            hm_loadshare_add(&seen, phases[i][k], 0);
        hm_loadshare_tell(&seen, &load, LINES, &share);
        for (int k = 0; k <= 10000; k++)
            least = fmin(least, mean_latency(&load, phases[i], k / 10000.0));
        assert_true(mean_latency(&load, phases[i], share.fast) < least * 1.001);
        assert_true(share.gain >= 0 && share.price > 0);
    }
}

/* Without traffic, and where both tiers are as fast, all heat belongs in the fast tier. */
static void test_all_belongs_there_where_nothing_is_gained(void **state)
{
    struct hm_load load = {.channels = HM_CHANNELS_SEPARATE};
    struct hm_heat_share share = {0};
    struct hm_loadshare seen = {0};
    (void)state;
    load.fast = load.slow = (struct hm_curve){.n = 2, .point = {{0, 103.7}, {1000, 103.7}}};
    hm_loadshare_tell(&seen, &load, LINES, &share);
    assert_true(share.fast == 1 && share.now < 0 && share.gain == 0);
    for (int i = 1; i < 100; i++) {
        hm_loadshare_add(&seen, i * 0.7, i * 0.3);
        hm_loadshare_tell(&seen, &load, LINES, &share);
        assert_true(share.fast == 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_settles_near_the_most_traffic),
        cmocka_unit_test(test_the_best_share_is_that_of_all_phases),
        cmocka_unit_test(test_all_belongs_there_where_nothing_is_gained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
