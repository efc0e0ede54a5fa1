/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what moves are expected to gain, and for how long. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "migrator/live/reckon.h"
#include "unit/lib/rows.h"

/* Of the accesses 60 % go to ten hot pages, 40 % to forty others. A page that gets x % of them has the priority
 * 3 x / 100 where the slow tier's latency is four times the fast one's. */
static const struct hm_extent hot_is_slow[] = {
    {.first = 100, .n_pages = 10, .tier_pages = {0, 10}, .priority = 0.18, .verdict = HM_VERDICT_PROMOTE},
    {.first = 200, .n_pages = 40, .tier_pages = {40}, .priority = 0.03, .verdict = HM_VERDICT_DEMOTE},
    {.first = 300, .n_pages = 50, .tier_pages = {50}, .priority = 0, .verdict = HM_VERDICT_CAP},
};

static void test_gain(void **state)
{
    (void)state;
    static const struct hm_reckon_tiers four = {{1, 4}, {1, 4}, 2}, alike = {{1, 1}, {1, 1}, 2};
    static const struct {
        struct hm_move move[2];
        size_t n;
        const struct hm_reckon_tiers *tiers;
        double gain;
    } rows[] = {
        {{{0}}, 0, &four, 0},
        /* now an access takes 0.6 * 4 + 0.4 = 2.8 times as long as in the fast tier, afterwards once */
        {{{.first = 100, .n_pages = 10, .limit = 10, .from = 1}}, 1, &four, 1.8 / 2.8},
        {{{.first = 100, .n_pages = 10, .limit = 5, .from = 1}}, 1, &four, 0.9 / 2.8},
        {{{.first = 200, .n_pages = 40, .limit = 10, .to = 1}, {.first = 100, .n_pages = 10, .limit = 10, .from = 1}},
         2,
         &four,
         1.5 / 2.8},
        {{{.first = 200, .n_pages = 40, .limit = 10, .to = 1}}, 1, &four, 0},   /* a loss is no gain */
        {{{.first = 300, .n_pages = 50, .limit = 50, .to = 1}}, 1, &four, 0},   /* for the cap */
        {{{.first = 150, .n_pages = 10, .limit = 10, .from = 1}}, 1, &four, 0}, /* no such extent */
        {{{.first = 100, .n_pages = 10, .limit = 10, .from = 1}}, 1, &alike, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        double gain = hm_reckon_gain(hot_is_slow, N_ROWS(hot_is_slow), rows[i].move, rows[i].n, rows[i].tiers);
        if (fabs(gain - rows[i].gain) > 1e-9)
            fail_msg("row %zu: %g", i, gain);
    }
}

/* With a tier between, a page gains as much as its step makes an access shorter: here from 4 to 2, and to 1. */
static void test_gain_with_three_tiers(void **state)
{
    (void)state;
    static const struct hm_reckon_tiers tiers = {{1, 2, 4}, {1, 2, 4}, 3};
    static const struct hm_extent hot = {.first = 100, .n_pages = 10, .tier_pages = {0, 0, 10}, .priority = 0.3};
    static const struct hm_move one = {.first = 100, .n_pages = 10, .limit = 10, .from = 2, .to = 1},
                                two = {.first = 100, .n_pages = 10, .limit = 10, .from = 2, .to = 0};
    assert_float_equal(hm_reckon_gain(&hot, 1, &one, 1, &tiers), 0.5, 1e-9);
    assert_float_equal(hm_reckon_gain(&hot, 1, &two, 1, &tiers), 0.75, 1e-9);
}

/* Writes wait as long as writes do, here three times as long as reads in the slow tier. */
static void test_gain_of_writes(void **state)
{
    (void)state;
    static const struct hm_reckon_tiers tiers = {{1, 2}, {1, 6}, 2};
    static const struct {
        double reads, writes, gain;
    } rows[] = {{1, 0, 1.0 / 2}, {0, 1, 5.0 / 6}, {1, 1, 3.0 / 4}, {0, 0, 1.0 / 2}};
    static const struct hm_move move = {.first = 100, .n_pages = 10, .limit = 10, .from = 1};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_extent hot = {.first = 100, .n_pages = 10, .tier_pages = {0, 10}, .priority = 0.1};
        hot.reads = rows[i].reads;
        hot.writes = rows[i].writes;
        assert_float_equal(hm_reckon_gain(&hot, 1, &move, 1, &tiers), rows[i].gain, 1e-9);
    }
}

static void test_for_how_long(void **state)
{
    (void)state;
    static const struct {
        double left_s, ran_s, phase_s, use_s;
    } rows[] = {
        {INFINITY, 30, 10, 30}, {INFINITY, 3000, 10, 80}, {86400, 30, 10, 30},
        {5, 3000, 10, 5},       {0, 3000, 10, 0},         {INFINITY, 0, 10, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++)
        assert_float_equal(hm_reckon_use_s(rows[i].left_s, rows[i].ran_s, rows[i].phase_s), rows[i].use_s, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gain), cmocka_unit_test(test_gain_with_three_tiers),
                                       cmocka_unit_test(test_gain_of_writes), cmocka_unit_test(test_for_how_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
