/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the algorithm `bins`: the borders of its bins, and which bins it exchanges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "drivenmodel.h"

static struct hm_decider *new_bins(unsigned most)
{
    const struct hm_decider_options options = {.algorithm = "bins", .period = 1, TWO_TIERS, .max_extents = most};
    struct hm_error error = {""};
    struct hm_decider *decider = hm_decider_new(&options, &error);
    assert_non_null(decider);
    return decider;
}

static void see(struct hm_decider *decider, uint64_t page, float reads, float writes)
{
    const struct hm_observation seen = {
        .page = page, .n_pages = 1, .reads = reads, .writes = writes, .knows_writes = true};
    hm_decider_observe(decider, &seen, 1);
}

/* 32 pages make 16 bins of two pages. A page that is seen later, below or above all of these, is counted in the
 * first or the last bin. */
static void test_borders(void **state)
{
    size_t n;
    (void)state;
    struct hm_decider *decider = new_bins(16);
    for (uint64_t i = 0; i < 32; i++)
        see(decider, HM_PAGE(0, 1000 + 10 * i), 1, 0);
    hm_decider_end_phase(decider);
    struct hm_extent *extent = hm_decider_extents(decider, &n);
    assert_int_equal(n, 16);
    assert_int_equal(extent[0].first, 0);
    for (size_t i = 1; i < n; i++)
        assert_int_equal(extent[i].first, 1000 + 20 * i);
    assert_int_equal(extent[15].first + extent[15].n_pages, HM_PAGE(1, UINT64_C(0)));
    see(decider, 5, 7, 0);
    see(decider, HM_PAGE(0, UINT64_C(1) << 40), 0, 9);
    see(decider, HM_PAGE(1, UINT64_C(5)), 1, 0); /* a process without bins */
    hm_decider_end_phase(decider);
    extent = hm_decider_extents(decider, &n);
    assert_int_equal(n, 16);
    assert_true(extent[0].reads > 6.4 && extent[0].reads < 6.6); /* 0.1 * 2 + 0.9 * 7 */
    assert_true(extent[15].writes > 8.0 && extent[15].writes < 8.2);
    assert_int_equal(hm_decider_dropped(decider), 1);
    hm_decider_free(decider);
}

/* The hottest bins replace the coldest ones. Bins move as a whole. */
static void test_exchange(void **state)
{
    size_t n, n_moves;
    (void)state;
    struct hm_decider *decider = new_bins(16);
    for (uint64_t i = 0; i < 16; i++)
        see(decider, HM_PAGE(0, 1000 + 10 * i), i == 9 ? 100000 : 1000 * (float)(16 - i), 0);
    hm_decider_end_phase(decider);
    struct hm_extent *extent = hm_decider_extents(decider, &n);
    assert_int_equal(n, 16);
    for (size_t i = 0; i < n; i++)
        *(i < 4 ? &extent[i].tier_pages[0] : &extent[i].tier_pages[1]) = 10;
    struct hm_budget budget = {.capacity_pages = {40}, .used_pages = {40}, .move_pages = 19, .phases_left = -1};
    hm_decider_plan(decider, &budget, &n_moves);
    assert_int_equal(n_moves, 0);
    assert_int_equal(extent[9].verdict, HM_VERDICT_BUDGET);
    budget.move_pages = 20;
    const struct hm_move *move = hm_decider_plan(decider, &budget, &n_moves);
    assert_int_equal(n_moves, 2);
    assert_false(hm_move_is_up(&move[0]));
    assert_int_equal(move[0].first, extent[3].first);
    assert_true(hm_move_is_up(&move[1]));
    assert_int_equal(move[1].first, extent[9].first);
    assert_int_equal(move[1].limit, 10);
    budget =
        (struct hm_budget){.capacity_pages = {15}, .used_pages = {40}, .move_pages = UINT64_MAX, .phases_left = -1};
    move = hm_decider_plan(decider, &budget, &n_moves);
    assert_true(n_moves >= 3 && !hm_move_is_up(&move[2]));
    assert_int_equal(extent[3].verdict, HM_VERDICT_CAP);
    hm_decider_free(decider);
}

/* The hottest bin has more pages than the fast tier holds. The next one needs the room of two colder ones there, and
 * between these are bins without a page there. */
static void test_what_has_no_room_stays_and_the_next_one_moves(void **state)
{
    size_t n, n_moves;
    (void)state;
    struct hm_decider *decider = new_bins(16);
    for (uint64_t i = 0; i < 16; i++)
        see(decider, HM_PAGE(0, 1000 + 10 * i), i >= 14 ? 100000 * (float)i : 1, 0);
    hm_decider_end_phase(decider);
    struct hm_extent *extent = hm_decider_extents(decider, &n);
    assert_int_equal(n, 16);
    for (size_t i = 0; i < 8; i++)
        extent[i].tier_pages[i % 2] = 10;
    extent[14].tier_pages[1] = 20;
    extent[15].tier_pages[1] = 41;
    const struct hm_budget budget = {
        .capacity_pages = {40}, .used_pages = {40}, .move_pages = UINT64_MAX, .phases_left = -1};
    const struct hm_move *move = hm_decider_plan(decider, &budget, &n_moves);
    assert_int_equal(extent[15].verdict, HM_VERDICT_ROOM);
    assert_int_equal(extent[14].verdict, HM_VERDICT_PROMOTE);
    assert_int_equal(n_moves, 3);
    assert_true(!hm_move_is_up(&move[0]) && !hm_move_is_up(&move[1]));
    assert_int_equal(move[2].first, extent[14].first);
    assert_int_equal(move[2].limit, 20);
    hm_decider_free(decider);
}

/* CPU time, in ns. */
static uint64_t spent(void)
{
    return hm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* With more processes than bins, the last ones are left out. To find out which takes no longer than the rest. */
static void test_more_processes_than_bins(void **state)
{
    enum { BINS = 1000, PROCESSES = 4000, PAGES = 15 };
    size_t n;
    (void)state;
    struct hm_decider *decider = new_bins(BINS);
    uint64_t begun = spent();
    for (uint32_t space = 0; space < PROCESSES; space++)
        for (uint64_t i = 0; i < PAGES; i++)
            see(decider, HM_PAGE(space, 10 * i), 1, 0);
    uint64_t seen = spent();
    hm_decider_end_phase(decider);
    assert_true(spent() - seen < 200 * (seen - begun)); /* some ten times as long; thousands, page by page */
    const struct hm_extent *extent = hm_decider_extents(decider, &n);
    assert_int_equal(n, BINS);
    for (uint32_t space = 0; space < BINS; space++) {
        assert_int_equal(extent[space].first, HM_PAGE(space, UINT64_C(0)));
        assert_true(extent[space].reads == PAGES);
    }
    hm_decider_free(decider);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_what_has_no_room_stays_and_the_next_one_moves),
        cmocka_unit_test(test_more_processes_than_bins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
