/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how long a predicted gain is expected to last (trust.h), how long samples are kept (drift.h), and which share
 * of accesses misses the caches (misses.h). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "migrator/decide/drift.h"
#include "migrator/decide/misses.h"
#include "migrator/decide/trust.h"
#include "unit/lib/rows.h"

/*
 * Three trials count as 1 + 0.6 + 0.36. Where all of the gain came true, it is expected to last one phase and then (1 +
 * 1.96) / 0.5 more; where none did, no phase at all. What may be chance tells little, and leaves the two phases of the
 * prior.
 */
static void test_trust(void **state)
{
    (void)state;
    static const struct {
        /* samples per phase: predicted for the promoted pages, seen there, and seen in the demoted pages */
        float promised, hot, cold;
        float excess; /* how much the variance of what was seen exceeds that of counted samples */
        double least, most;
    } rows[] = {
        {500, 500, 0, 0, 6.8, 6.92}, {500, 1000, 0, 0, 6.8, 6.92}, {500, 250, 0, 0, 1.15, 1.2},
        {500, 0, 0, 0, 0, 0.05},     {500, 0, 500, 0, 0, 0},       {500, 500, 250, 0, 1.1, 1.25},
        {0.1F, 1, 0, 0, 2, 2.3},     {0, 100, 100, 0, 2, 2},       {500, 500, 0, 1e4, 6, 6.8},
        {500, 500, 0, 1e7, 2, 2.2},  {500, 500, 0, 2.5e5, 3.5, 5},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_promise room[2];
        struct hm_cell cell[] = {{.first = 10, .n_pages = 10, .new_reads = rows[i].hot, .new_excess = rows[i].excess},
                                 {.first = 50, .n_pages = 10, .new_reads = rows[i].cold}};
        struct hm_cells cells = {.cell = cell, .n = 2, .read_weight = 1, .write_weight = 1};
        struct hm_trust trust = {.promise = room};
        assert_true(fabs(hm_trust_phases(&trust) - 2) < 1e-12);
        hm_trust_begin(&trust);
        hm_trust_promise(&trust, &(struct hm_promise){50, 10, -1}, 0);
        hm_trust_promise(&trust, &(struct hm_promise){10, 10, 1}, (double)rows[i].promised);
        for (int phase = 0; phase < 3; phase++)
            hm_trust_see(&trust, &cells);
        if (hm_trust_phases(&trust) < rows[i].least || hm_trust_phases(&trust) > rows[i].most)
            fail_msg("row %zu is expected to last %.3f phases", i, hm_trust_phases(&trust));
    }
}

#define PARTS 50

/*
 * Heat that moves for good, that comes and goes, or that only chance makes differ: the first leaves little of the old
 * samples, the others leave most.
 */
static void test_drift(void **state)
{
    (void)state;
    static const struct {
        unsigned phases_apart; /* a part has 100 samples in so many phases, then 10 in as many; 0: always 50 */
        double least, most;
    } rows[] = {{0, 0.9, 0.9}, {1, 0.9, 0.9}, {12, 0.1, 0.12}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_cell cell[PARTS] = {{0}};
        struct hm_extent extent[PARTS] = {{0}};
        struct hm_cells cells = {.cell = cell, .n = PARTS, .read_weight = 1, .write_weight = 4};
        struct hm_drift drift = {0};
        double weight = 0, decay = hm_drift_decay(&drift, 1);
        for (uint64_t part = 0; part < PARTS; part++) {
            extent[part] = (struct hm_extent){.first = part * 10, .n_pages = 10};
            cell[part] = (struct hm_cell){.first = part * 10, .n_pages = 10};
        }
        assert_true(decay == 0.9);
        for (unsigned phase = 0; phase < 14; phase++) {
            for (unsigned part = 0; part < PARTS; part++) {
                unsigned apart = rows[i].phases_apart;
                bool is_hot = apart > 0 && (part + phase / apart) % 2 == 0;
                cell[part].new_reads = (float)(apart == 0 ? 50 + (part * 7 + phase * 5) % 11 : is_hot ? 100 : 10);
            }
            hm_drift_see(&drift, &cells, extent, PARTS, weight);
            decay = hm_drift_decay(&drift, fmax(weight, 1));
            hm_cells_age(&cells, decay);
            weight = weight * decay + 1;
        }
        if (decay < rows[i].least || decay > rows[i].most)
            fail_msg("row %zu: old samples are multiplied by %.3f", i, decay);
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
        cmocka_unit_test(test_drift),
        cmocka_unit_test(test_misses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
