/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how the algorithm `regions` keeps to the fast tier's share of the heat, where more of it would be slower. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "migrator/decide/decide.h"
#include "unit/lib/rows.h"

#define PAGES 1000 /* HOT of them are ten times as hot as the others */
#define HOT 200
#define FIRST 0x1000
#define PHASES 6 /* until the decision code trusts its predictions */

struct world {
    struct hm_decider *decider;
    bool is_fast[PAGES];
    uint64_t used, moved; /* moved: in the last phase */
    bool is_scattered;    /* each fifth page is hot, so that extents have one page or four; else the first ones are */
};

static double heat_of(const struct world *world, uint64_t page)
{
    return (world->is_scattered ? page % (PAGES / HOT) == 0 : page < HOT) ? 10 : 1;
}

static double share_of(const struct world *world)
{
    double fast = 0, all = 0;
    for (uint64_t page = 0; page < PAGES; page++) {
        all += heat_of(world, page);
        fast += world->is_fast[page] ? heat_of(world, page) : 0;
    }
    return fast / all;
}

/* Begins with the first `fast` pages in the fast tier. */
static void begin(struct world *world, uint64_t fast)
{
    const struct hm_decider_options options = {.algorithm = "regions",
                                               .period = 100,
                                               .n_tiers = 2,
                                               .read_gain = {0, 1},
                                               .write_gain = {0, 1},
                                               .page_bytes = 4096,
                                               .move_cost[1][0] = 300,
                                               .move_cost[0][1] = 300,
                                               .max_extents = 1024,
                                               .counts_memory = true};
    *world = (struct world){.decider = hm_decider_new(&options, NULL)};
    assert_non_null(world->decider);
    for (uint64_t page = 0; page < fast; page++)
        world->is_fast[page] = true;
    world->used = fast;
}

static uint64_t count(const struct world *world, const struct hm_extent *extent, bool is_fast)
{
    uint64_t n = 0;
    for (uint64_t page = 0; page < PAGES; page++)
        n += FIRST + page - extent->first < extent->n_pages && world->is_fast[page] == is_fast;
    return n;
}

static void carry_out(struct world *world, const struct hm_move *move)
{
    uint64_t left = move->limit;
    for (uint64_t page = 0; page < PAGES && left > 0; page++)
        if (FIRST + page - move->first < move->n_pages && world->is_fast[page] != hm_move_is_up(move)) {
            world->is_fast[page] = hm_move_is_up(move);
            world->used += hm_move_is_up(move) ? 1 : -UINT64_C(1);
            world->moved++;
            left--;
        }
}

/* Runs phases: each page has `samples` samples for each unit of its heat. `share` may be NULL. */
static void run(struct world *world, double samples, uint64_t capacity, struct hm_heat_share *share)
{
    for (int phase = 0; phase < PHASES; phase++) {
        size_t n;
        for (uint64_t page = 0; page < PAGES; page++) {
            struct hm_observation seen = {.page = FIRST + page,
                                          .n_pages = 1,
                                          .reads = (float)(heat_of(world, page) * samples),
                                          .knows_writes = true};
            hm_decider_observe(world->decider, &seen, 1);
        }
        hm_decider_end_phase(world->decider);
        struct hm_extent *extent = hm_decider_extents(world->decider, &n);
        for (size_t i = 0; i < n; i++) {
            extent[i].tier_pages[0] = count(world, &extent[i], true);
            extent[i].tier_pages[1] = count(world, &extent[i], false);
        }
        struct hm_budget budget = {.capacity_pages = {capacity},
                                   .used_pages = {world->used},
                                   .move_pages = UINT64_MAX,
                                   .phases_left = -1,
                                   .share = share};
        const struct hm_move *move = hm_decider_plan(world->decider, &budget, &n);
        world->moved = 0;
        for (size_t i = 0; i < n; i++)
            carry_out(world, &move[i]);
    }
}

/* From all in the fast tier, or nothing, the wanted share is reached, where the capacity allows it, and then stays. */
static void test_the_share_is_reached(void **state)
{
    static const struct {
        uint64_t fast, capacity;
        double wanted, share;
    } rows[] = {{PAGES, PAGES, .6, .6}, {PAGES, PAGES, .2, .2}, {PAGES, PAGES, 0, 0},    {PAGES, PAGES, 1, 1},
                {0, PAGES, .6, .6},     {0, PAGES, .9, .9},     {0, PAGES, 0, 0},        {0, 100, .2, .2},
                {0, 100, .6, 1 / 2.8},  {HOT, HOT, .3, .3},     {PAGES, PAGES, .95, .95}};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_heat_share share = {
            .fast = rows[i].wanted, .now = -1, .gain = 1, .price = 300, .served = 0.5, .told = 0.5};
        struct world world;
        begin(&world, rows[i].fast);
        run(&world, 10, rows[i].capacity, &share);
        double got = share_of(&world);
        if (got < rows[i].share - 0.02 || got > rows[i].share + 0.02 || world.used > rows[i].capacity)
            fail_msg("row %zu: a share of %.3f with %lu pages, not %.3f", i, got, (unsigned long)world.used,
                     rows[i].share);
        assert_int_equal(world.moved, 0);
        hm_decider_free(world.decider);
    }
}

static uint64_t fast_below(const struct world *world, uint64_t end)
{
    uint64_t n = 0;
    for (uint64_t page = 0; page < end; page++)
        n += world->is_fast[page];
    return n;
}

/* To leave accesses to the slow tier, each part of the memory is near the same share there: the phases use other parts.
 */
static void test_each_part_has_the_share(void **state)
{
    struct hm_heat_share share = {.fast = 0.6, .now = -1, .gain = 1, .price = 3, .served = 0.5, .told = 0.5};
    (void)state;
    for (uint64_t fast = 0; fast <= PAGES; fast += PAGES) {
        struct world world;
        begin(&world, fast);
        run(&world, 10, PAGES, &share);
        uint64_t hot = fast_below(&world, HOT), cold = fast_below(&world, PAGES) - hot;
        assert_in_range(hot, HOT / 2, HOT * 7 / 10);
        assert_in_range(cold, (PAGES - HOT) * 2 / 5, (PAGES - HOT) * 4 / 5);
        hm_decider_free(world.decider);
    }
}

/* Extents of a few pages have the share together, from either side. */
static void test_small_parts_have_the_share_together(void **state)
{
    static const double wanted[] = {0.3, 0.6, 0.8};
    (void)state;
    for (size_t i = 0; i < 2 * N_ROWS(wanted); i++) {
        struct hm_heat_share share = {
            .fast = wanted[i / 2], .now = -1, .gain = 1, .price = 300, .served = 0.5, .told = 0.5};
        struct world world;
        size_t n;
        begin(&world, i % 2 * PAGES);
        world.is_scattered = true;
        run(&world, 100, PAGES, &share);
        hm_decider_extents(world.decider, &n);
        assert_true(n >= 2 * HOT);
        if (fabs(share_of(&world) - share.fast) > 0.01 || world.moved > 0)
            fail_msg("row %zu: a share of %.3f, not %.3f", i, share_of(&world), share.fast);
        hm_decider_free(world.decider);
    }
}

/* Where the fast tier has no room for that, few pages take much heat: the hottest go to the slow tier. */
static void test_the_hottest_pages_are_shed(void **state)
{
    struct hm_heat_share share = {.fast = 0.6, .now = -1, .gain = 1, .price = 300, .served = 0.5, .told = 0.5};
    struct world world;
    (void)state;
    begin(&world, PAGES / 2);
    run(&world, 10, PAGES / 2, &share);
    assert_in_range(PAGES / 2 - world.used, 55, 70); /* 2300 - 0.6 * 2800 of the heat are 62 hot pages */
    hm_decider_free(world.decider);
}

/* Without a gain for each access, or where the samples are too few for the price of a move, nothing is moved. */
static void test_what_does_not_pay_stays(void **state)
{
    static const struct {
        double gain, samples;
    } rows[] = {{0, 10}, {1e-6, 10}, {1, 0.01}};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_heat_share share = {
            .fast = 0.5, .now = -1, .gain = rows[i].gain, .price = 300, .served = 0.5, .told = 0.5};
        struct world world;
        begin(&world, PAGES);
        run(&world, rows[i].samples, PAGES, &share);
        assert_int_equal(world.used, PAGES);
        hm_decider_free(world.decider);
    }
}

/* A share of 1 with the gains and prices of the options is no limit. */
static void test_a_whole_share_is_none(void **state)
{
    struct hm_heat_share share = {.fast = 1, .now = 0.5, .gain = 1, .price = 300, .served = 0.5, .told = 0.5};
    struct world with, without;
    (void)state;
    begin(&with, 0);
    begin(&without, 0);
    run(&with, 10, 300, &share);
    run(&without, 10, 300, NULL);
    assert_memory_equal(with.is_fast, without.is_fast, sizeof(with.is_fast));
    assert_true(share_of(&with) > 0.7);
    hm_decider_free(with.decider);
    hm_decider_free(without.decider);
}

/* Where the fast tier is measured to serve more than the heat tells, less heat is left there. */
static void test_the_measured_share_corrects_the_heat(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct hm_heat_share share = {
            .fast = 0.5, .now = i == 0 ? 0.99 : 0.01, .gain = 1, .price = 300, .served = 0.5, .told = 0.5};
        struct world world;
        begin(&world, PAGES / 2);
        run(&world, 10, PAGES, &share);
        assert_true(i == 0 ? share_of(&world) < 0.4 : share_of(&world) > 0.6);
        hm_decider_free(world.decider);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_share_is_reached),
        cmocka_unit_test(test_each_part_has_the_share),
        cmocka_unit_test(test_the_hottest_pages_are_shed),
        cmocka_unit_test(test_what_does_not_pay_stays),
        cmocka_unit_test(test_small_parts_have_the_share_together),
        cmocka_unit_test(test_a_whole_share_is_none),
        cmocka_unit_test(test_the_measured_share_corrects_the_heat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
