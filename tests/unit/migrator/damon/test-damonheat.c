/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what DAMON's regions tell about accesses: heat, and its variance. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "migrator/damon/heat.h"
#include "migrator/decide/algorithm.h"
#include "unit/lib/pageshift.h"
#include "unit/lib/rows.h"

static void heat_follows_the_formula(void **state)
{
    (void)state;
    static const struct {
        uint32_t accesses;
        double touches; /* accesses of each page between two looks */
        bool is_saturated;
    } rows[] = {{0, 0, false},         {10, 0.6931472, false}, {17, 1.8971200, false}, {18, 2.3025851, true},
                {19, 2.9957323, true}, {20, 3.6888795, true},  {25, 3.6888795, true}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_damon_region region = {.start = 16 * hm_page_size(),
                                         .end = (16 + 512) * hm_page_size(),
                                         .accesses = rows[i].accesses,
                                         .looks = 20,
                                         .look_us = 4000};
        struct hm_observation heat = hm_damon_heat(&region, 2, 3);
        assert_true(heat.page == HM_PAGE(3, 16) && heat.n_pages == 512 && !heat.knows_writes && heat.writes == 0);
        assert_int_equal(heat.is_saturated, rows[i].is_saturated);
        assert_true(fabs(heat.reads - rows[i].touches * 500 * 512) < 0.1); /* there is time for 500 looks in 2 s */
        assert_true(heat.excess >= 0);
    }
}

/* A round is shorter than a visit's looks where the memory is small. The decision code takes no observation whose
 * variance is less than that of a count. */
static void a_short_round_is_taken(void **state)
{
    (void)state;
    struct hm_damon_region region = {.end = hm_page_size(), .accesses = 5, .looks = 10, .look_us = 16000};
    struct hm_observation heat = hm_damon_heat(&region, 0.001, 0);
    assert_true(hm_observation_is_valid(&heat));
}

#define LISTS 4000
#define LOOKS 20
#define ROUND_S 0.06 /* three times the looks: these stand for what happened between two visits, too */

/* Returns how many of LOOKS looks at a region find an access. Each look finds one with this probability. */
static uint32_t look(double probability, uint64_t *seed)
{
    uint32_t accesses = 0;
    for (int i = 0; i < LOOKS; i++) {
        *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        accesses += (double)(*seed >> 40) < probability * (1 << 24);
    }
    return accesses;
}

/* The variance that comes with heat is about the true one, where no more than half of the looks find an access
 * (heat.h). This is checked for the sum over regions of many sizes. */
static void the_variance_is_as_it_says(void **state)
{
    (void)state;
    static const uint64_t pages[] = {1, 3, 10, 30, 100, 300, 2000};
    static const double probabilities[] = {0.05, 0.2, 0.5};
    for (size_t p = 0; p < N_ROWS(probabilities); p++) {
        double sum = 0, squares = 0, said = 0;
        uint64_t seed = 1;
        for (int list = 0; list < LISTS; list++) {
            double samples = 0;
            for (size_t i = 0; i < N_ROWS(pages); i++) {
                struct hm_damon_region region = {.end = hm_page_size() * pages[i],
                                                 .accesses = look(probabilities[p], &seed),
                                                 .looks = LOOKS,
                                                 .look_us = 1000};
                struct hm_observation heat = hm_damon_heat(&region, ROUND_S, 0);
                samples += (double)heat.reads;
                said += (double)heat.reads * (1 + (double)heat.excess);
            }
            sum += samples;
            squares += samples * samples;
        }
        double mean = sum / LISTS, variance = squares / LISTS - mean * mean;
        assert_true(said / LISTS > 0.8 * variance && said / LISTS < 1.2 * variance);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heat_follows_the_formula),
        cmocka_unit_test(a_short_round_is_taken),
        cmocka_unit_test(the_variance_is_as_it_says),
    };
    return RUN_WITH_BOTH_SIZES(tests);
}
