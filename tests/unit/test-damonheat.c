/* SPDX-License-Identifier: Apache-2.0 */
/* What DAMON's regions say about accesses: heat, and the unit that it is in. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "helpers/migrator/damonheat.h"

static void heat_follows_the_formula(void **state)
{
    (void)state;
    static const struct {
        uint32_t accesses;
        double touches; /* per page and look */
    } rows[] = {{0, 0}, {10, 0.6931472}, {19, 2.9957323}, {20, 3.6888795}, {25, 3.6888795}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hm_damon_region region = {.start = 0x10000, .end = 0x10000 + 4096 * 512, .accesses = rows[i].accesses};
        struct hm_observation heat = hm_damon_heat(&region, 20, 256, 3);
        assert_true(heat.page == HM_PAGE(3, 16) && heat.n_pages == 512 && !heat.knows_writes && heat.writes == 0);
        assert_true(fabs(heat.reads - rows[i].touches * 20 * 512 / 256) < 1e-3);
    }
}

/* A shell that waits in holes of terabytes, then the program that it starts. */
static void the_unit_follows_what_is_accessed(void **state)
{
    (void)state;
    static const uint64_t page = 4096;
    const struct hm_damon_region asleep[] = {{.start = 0, .end = page << 34}},
                                 shell[] = {{.start = 0, .end = page << 34},
                                            {.start = page << 35, .end = (page << 35) + 60 * page, .accesses = 1},
                                            {.start = page << 36, .end = (page << 36) + 40 * page, .accesses = 20}},
                                 program[] = {{.start = 0, .end = page << 34},
                                              {.start = page << 35, .end = (page << 35) + 1000 * page, .accesses = 9},
                                              {.start = page << 36, .end = (page << 36) + 3000 * page, .accesses = 3}};
    struct hm_damon_scatter scatter = {0};
    assert_int_equal(hm_damon_follow_unit(&scatter, 0, asleep, 1), 0);
    uint64_t unit = hm_damon_follow_unit(&scatter, 0, shell, 3);
    assert_int_equal(unit, 41); /* (1 * 60^2 + 20 * 40^2) / (1 * 60 + 20 * 40) */
    assert_int_equal(hm_damon_follow_unit(&scatter, unit, asleep, 1), 41);
    int changes = 0;
    for (int i = 0; i < 100; i++) {
        hm_damon_scatter_age(&scatter);
        uint64_t now = hm_damon_follow_unit(&scatter, unit, program, 3);
        changes += now != unit;
        unit = now;
    }
    assert_true(unit >= 2000 / 4 && unit <= 2000);
    assert_in_range(changes, 1, 3); /* each throws away what was learnt */
    for (int i = 0; i < 200; i++) {
        hm_damon_scatter_age(&scatter);
        unit = hm_damon_follow_unit(&scatter, unit, shell, 3);
    }
    assert_true(unit >= 41 && unit <= 41 * 4);
}

/* All but one wait for it, and touch next to nothing; and lists come in any order. */
static void the_unit_is_one_for_all_processes(void **state)
{
    (void)state;
    const struct hm_damon_region works = {.start = 0, .end = UINT64_C(4096) * 10000, .accesses = 10},
                                 waits = {.start = 0, .end = UINT64_C(4096) * 2, .accesses = 20};
    struct hm_damon_scatter scatter = {0};
    uint64_t unit = hm_damon_follow_unit(&scatter, 0, &works, 1);
    assert_int_equal(unit, 10000);
    for (int aggregation = 0; aggregation < 20; aggregation++) {
        hm_damon_scatter_age(&scatter);
        for (int process = 0; process < 64; process++)
            assert_int_equal(hm_damon_follow_unit(&scatter, unit, process == 9 ? &works : &waits, 1), unit);
    }
}

#define LISTS 2000
#define LOOKS 20

/* Evenly used memory in regions of any size: what is evidence of nothing must not look like more. */
static void samples_scatter_like_counts(void **state)
{
    (void)state;
    static const uint64_t pages[] = {1, 3, 10, 30, 100, 300, 2000};
    struct hm_damon_region region[sizeof(pages) / sizeof(pages[0])];
    const uint32_t n = sizeof(pages) / sizeof(pages[0]);
    struct hm_damon_scatter scatter = {0};
    double sum = 0, squares = 0;
    uint64_t unit = 0, seed = 1;
    for (int list = 0; list < LISTS; list++) {
        double samples = 0;
        for (uint32_t i = 0; i < n; i++) {
            region[i] = (struct hm_damon_region){.start = UINT64_C(4096) << (20 + i)};
            region[i].end = region[i].start + 4096 * pages[i];
            for (int look = 0; look < LOOKS; look++) {
                seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                region[i].accesses += (seed >> 40) % 5 == 0;
            }
        }
        unit = hm_damon_follow_unit(&scatter, unit, region, n);
        for (uint32_t i = 0; i < n; i++)
            samples += (double)hm_damon_heat(&region[i], LOOKS, 1, 0).reads;
        sum += samples;
        squares += samples * samples;
    }
    double mean = sum / LISTS, variance = squares / LISTS - mean * mean;
    double by_unit = variance / mean / (double)unit; /* 1: like counts */
    assert_true(by_unit > 0.7 && by_unit < 1.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heat_follows_the_formula),
        cmocka_unit_test(the_unit_follows_what_is_accessed),
        cmocka_unit_test(the_unit_is_one_for_all_processes),
        cmocka_unit_test(samples_scatter_like_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
