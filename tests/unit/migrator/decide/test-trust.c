/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how far a predicted gain is believed (trust.h), and which share of accesses misses the caches (misses.h). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "migrator/decide/misses.h"
#include "migrator/decide/trust.h"
#include "unit/lib/rows.h"

/* After a prediction failed, predictions are believed less; after one came true, more. A few samples hardly change how
 * far they are believed. */
static void test_trust(void **state)
{
    (void)state;
    static const struct {
        /* samples per phase: predicted for the promoted pages, seen there, and seen in the demoted pages */
        float promised, hot, cold;
        float excess; /* how much the variance of what was seen exceeds that of counted samples */
        double least, most;
    } rows[] = {
        {500, 500, 0, 0, 0.98, 1},     {500, 1000, 0, 0, 1, 1},      {500, 250, 0, 0, 0.48, 0.52},
        {500, 0, 0, 0, 0, 0.02},       {500, 0, 500, 0, 0, 0},       {500, 500, 250, 0, 0.45, 0.55},
        {0.1F, 1, 0, 0, 0.1, 0.2},     {0, 100, 100, 0, 0.1, 0.1},   {500, 500, 0, 1e4, 0.9, 1},
        {500, 500, 0, 1e7, 0.1, 0.15}, {500, 500, 0, 1e5, 0.5, 0.8},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_promise room[2];
        struct hm_cell cell[] = {{.first = 10, .n_pages = 10, .new_reads = rows[i].hot, .new_excess = rows[i].excess},
                                 {.first = 50, .n_pages = 10, .new_reads = rows[i].cold}};
        struct hm_cells cells = {.cell = cell, .n = 2, .read_weight = 1, .write_weight = 1};
        struct hm_trust trust = {.promise = room};
        double first = hm_trust_factor(&trust);
        assert_true(first > 0 && first < 1);
        hm_trust_begin(&trust);
        hm_trust_promise(&trust, &(struct hm_promise){50, 10, -1}, 0);
        hm_trust_promise(&trust, &(struct hm_promise){10, 10, 1}, (double)rows[i].promised);
        for (int phase = 0; phase < 3; phase++)
            hm_trust_see(&trust, &cells);
        if (hm_trust_factor(&trust) < rows[i].least || hm_trust_factor(&trust) > rows[i].most)
            fail_msg("row %zu is believed by %.3f", i, hm_trust_factor(&trust));
    }
}

/*
 * An access to a page that is hotter than the mean misses the caches less often, by the square root of the ratio of the
 * page's heat to the mean (misses.h). Still, a hotter page has more accesses that reach memory in all.
 */
static void test_misses(void **state)
{
    (void)state;
    static const struct {
        double heat, mean, share;
    } rows[] = {{0, 2, 1}, {1, 2, 1}, {2, 2, 1}, {8, 2, 0.5}, {200, 2, 0.1}, {4e-9, 1e-9, 0.5}};
    double at_mean = hm_misses_per_access(1, 1), last = 0;
    assert_true(at_mean > 0.01 && at_mean < 0.2);
    for (size_t i = 0; i < N_ROWS(rows); i++)
        assert_true(fabs(hm_misses_per_access(rows[i].heat, rows[i].mean) - rows[i].share * at_mean) < 1e-12);
    for (double heat = 0.001; heat < 1e6; heat *= 1.1) {
        assert_true(heat * hm_misses_per_access(heat, 1) > last);
        last = heat * hm_misses_per_access(heat, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trust),
        cmocka_unit_test(test_misses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
