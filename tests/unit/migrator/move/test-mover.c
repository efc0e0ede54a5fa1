/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which pages are moved, where to, and how many, over a model of the kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "movefixture.h"
#include "unit/lib/pageshift.h"
#include "unit/lib/rows.h"

static void test_only_what_is_elsewhere_is_submitted(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 300; i++)
        kernel.node[i] = i % 3 == 0 ? ABSENT : i % 3 == 1 ? 1 : 2;
    promote(0, 300);
    for (unsigned i = 0; i < PAGES; i++)
        assert_int_equal(kernel.submitted[i], i < 300 && i % 3 == 2);
    assert_int_equal(mover.moved.promoted, 100);
    assert_int_equal(kernel_count_on(0), 100);
    assert_int_equal(kernel.moves, 1);
    assert_int_equal(kernel.n_asked, 200); /* holes are not asked for */
    assert_int_equal(nodes.node[0].free_bytes, (PAGES - 100) * hm_page_size());
    assert_int_equal(nodes.node[2].free_bytes, (PAGES + 100) * hm_page_size());
}

static void test_outside_of_mappings_is_left_alone(void **state)
{
    (void)state;
    struct hm_move all = {
        .first = HM_PAGE(0, 1), .n_pages = UINT64_C(1) << 40, .limit = UINT64_MAX, .from = 1, .to = 0};
    range.n_pages = 10;
    hm_mover_run(&mover, &all, 1);
    range.n_pages = PAGES;
    assert_int_equal(mover.moved.promoted, 10);
    all.first = HM_PAGE(1, FIRST); /* no such process */
    hm_mover_run(&mover, &all, 1);
    assert_int_equal(mover.moved.promoted, 10);
}

/* A mapping with next to no present pages. */
static void test_holes_are_skipped(void **state)
{
    (void)state;
    struct hm_move all = {.first = HM_PAGE(0, FIRST), .n_pages = 1u << 30, .limit = UINT64_MAX, .from = 1, .to = 0};
    for (unsigned i = 0; i < PAGES; i++)
        kernel.node[i] = i % 1000 == 999 ? 2 : ABSENT;
    range.n_pages = 1u << 30;
    hm_mover_run(&mover, &all, 1);
    range.n_pages = PAGES;
    assert_int_equal(mover.moved.promoted, PAGES / 1000);
    assert_int_equal(kernel.n_submitted, PAGES / 1000); /* each page by itself, as none can be in a huge page */
    assert_int_equal(kernel.n_asked, PAGES / 1000);
}

static void test_nothing_is_looked_at_without_need(void **state)
{
    (void)state;
    struct hm_move none = {.first = HM_PAGE(0, FIRST), .n_pages = PAGES, .limit = 0, .from = 1, .to = 0};
    hm_mover_run(&mover, &none, 1);
    hm_mover_begin(&mover, UINT64_MAX, 0);
    none.limit = PAGES;
    hm_mover_run(&mover, &none, 1);
    assert_int_equal(kernel.n_asked, 0);
}

/* A cold span is large, and gives way to a few hot pages at a time. */
static void test_a_small_move_looks_at_few_pages(void **state)
{
    (void)state;
    struct hm_move few = {.first = HM_PAGE(0, FIRST), .n_pages = PAGES, .limit = 5, .from = 1, .to = 0};
    mover.has_huge = false;
    hm_mover_run(&mover, &few, 1);
    assert_int_equal(mover.moved.promoted, 5);
    assert_in_range(kernel.n_asked, 5, 64);
    few.limit = 200; /* the first five are there */
    hm_mover_run(&mover, &few, 1);
    assert_int_equal(mover.moved.promoted, 205);
    assert_in_range(kernel.n_asked, 205, 64 + 205 + 64);
}

/* As a demotion for the cap takes many phases, none looks again at what the others have moved. */
static void test_a_demotion_goes_on_where_the_last_one_stopped(void **state)
{
    (void)state;
    struct hm_move down = {.first = HM_PAGE(0, FIRST), .n_pages = PAGES, .limit = PAGES / 2, .to = 1};
    mover.has_huge = false;
    for (unsigned i = 0; i < PAGES; i++)
        kernel.node[i] = 0;
    hm_mover_run(&mover, &down, 1);
    assert_int_equal(kernel_count_on(0), PAGES - PAGES / 2);
    uint64_t asked = kernel.n_asked;
    down.limit = 100;
    hm_mover_run(&mover, &down, 1);
    assert_int_equal(mover.moved.demoted, PAGES / 2 + 100);
    assert_true(kernel.n_asked - asked <= PAGES / 4);
    assert_true(kernel.node[PAGES / 2 + 99] != 0 && kernel.node[PAGES / 2 + 100] == 0);
    kernel.node[7] = 0; /* a new page, before those that are left */
    down.limit = PAGES;
    hm_mover_run(&mover, &down, 1);
    assert_int_equal(kernel_count_on(0), 0);
}

static void test_neighbours_share_a_call(void **state)
{
    (void)state;
    struct hm_move moves[40];
    for (unsigned i = 0; i < 40; i++)
        moves[i] =
            (struct hm_move){.first = HM_PAGE(0, FIRST + (39 - i) * 8), .n_pages = 4, .limit = 4, .from = 1, .to = 0};
    mover.has_huge = false;
    hm_mover_run(&mover, moves, 40);
    assert_int_equal(mover.moved.promoted, 160);
    assert_int_equal(kernel.moves, 1);
    assert_int_equal(kernel.n_opened, 1);
}

static void test_each_goes_to_the_nearest_node(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PAGES; i++)
        kernel.node[i] = i % 2 ? 2 : 3;
    promote(0, 100);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(kernel.node[i], i % 2 ? 0 : 1);
    nodes.node[0].free_bytes = 10 * hm_page_size();
    promote(100, 100); /* 50 of them from node 2: ten find room on the near node, the others on the far one */
    assert_int_equal(mover.moved.promoted, 200);
    assert_int_equal(kernel_count_on(0), 60);
    assert_int_equal(kernel_count_on(1), 140);
}

/* Of the processes that map shared memory most have no page to move, and to ask takes a call for each thread. */
static void test_only_who_has_pages_to_move_is_asked_for_its_cpus(void **state)
{
    (void)state;
    promote(0, 8);
    assert_int_equal(n_cpus_asked, 0); /* one node alone has CPUs, or none */
    nodes.node[0].n_cpus = nodes.node[1].n_cpus = 4;
    hm_mover_begin(&mover, UINT64_MAX, UINT64_MAX);
    promote(0, 8); /* they are there already */
    assert_int_equal(n_cpus_asked, 0);
    promote(8, 8);
    promote(16, 8);
    assert_int_equal(n_cpus_asked, 1);
    hm_mover_begin(&mover, UINT64_MAX, UINT64_MAX);
    promote(24, 8); /* it may have been bound elsewhere meanwhile */
    assert_int_equal(n_cpus_asked, 2);
    assert_int_equal(mover.moved.promoted, 8);
}

static void test_huge_pages_are_moved_once(void **state)
{
    (void)state;
    for (unsigned block = 0; block < 4; block++)
        kernel.is_huge[block] = true;
    promote(0, 4 * hm_huge_pages());
    assert_int_equal(kernel.n_submitted, 4);
    assert_int_equal(kernel.moves, (4 * hm_huge_pages() - 1) / HM_BATCH_PAGES + 1);
    assert_int_equal(mover.moved.promoted, 4 * hm_huge_pages());
    assert_int_equal(kernel_count_on(0), 4 * hm_huge_pages());
    for (int reason = 0; reason < HM_UNMOVED_REASONS; reason++)
        assert_int_equal(mover.moved.unmoved[reason], 0);
}

static void test_a_part_of_a_huge_page_counts_whole(void **state)
{
    (void)state;
    kernel.is_huge[1] = kernel.is_huge[2] = true;
    promote(hm_huge_pages() + 100, 20);
    assert_int_equal(mover.moved.promoted, hm_huge_pages());
    assert_int_equal(kernel.n_submitted, 1);
    promote(2 * hm_huge_pages() + 33, 1); /* a single page of a huge page moves all of it, too */
    assert_int_equal(mover.moved.promoted, 2 * hm_huge_pages());
    promote(3 * hm_huge_pages() + 33, 1); /* a single small page */
    assert_int_equal(mover.moved.promoted, 2 * hm_huge_pages() + 1);
    assert_int_equal(kernel.n_submitted, 3);
    assert_int_equal(nodes.node[0].free_bytes, (PAGES - 2 * hm_huge_pages() - 1) * hm_page_size());
}

static void test_small_pages_where_huge_ones_could_be(void **state)
{
    (void)state;
    kernel.is_huge[1] = true;
    promote(0, 3 * hm_huge_pages());
    assert_int_equal(mover.moved.promoted, 3 * hm_huge_pages());
    assert_int_equal(kernel.moves, 2);
    assert_int_equal(kernel.n_submitted, 2 * hm_huge_pages() + 1);
    assert_int_equal(nodes.node[0].free_bytes, (PAGES - 3 * hm_huge_pages()) * hm_page_size());
}

static void test_limits(void **state)
{
    (void)state;
    static const struct {
        uint64_t limit, room, budget, promoted;
    } rows[] = {
        {400, UINT64_MAX, UINT64_MAX, 400},
        {70, UINT64_MAX, UINT64_MAX, 70},
        {400, 30, UINT64_MAX, 30},
        {400, UINT64_MAX, 20, 20},
        {400, UINT64_MAX, 200, 200},
        {0, UINT64_MAX, UINT64_MAX, 0},
        {400, 0, UINT64_MAX, 0},
        {400, UINT64_MAX, 0, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        for (unsigned page = 0; page < PAGES; page++)
            kernel.node[page] = 2;
        struct hm_move one = {.first = HM_PAGE(0, FIRST), .n_pages = 400, .limit = rows[i].limit, .from = 1, .to = 0};
        mover.has_huge = false;
        mover.batch_pages = 128; /* so limits beyond it hold over several calls */
        hm_mover_begin(&mover, rows[i].room, rows[i].budget);
        hm_mover_run(&mover, &one, 1);
        assert_int_equal(mover.moved.promoted, rows[i].promoted);
        assert_int_equal(kernel_count_on(0), rows[i].promoted);
    }
}

static void test_huge_pages_keep_the_cap(void **state)
{
    (void)state;
    uint64_t room = 2 * hm_huge_pages() - 24;
    memset(kernel.is_huge, 1, sizeof(kernel.is_huge));
    hm_mover_begin(&mover, room, UINT64_MAX);
    promote(0, PAGES);
    assert_int_equal(mover.moved.promoted, hm_huge_pages()); /* a second huge page would exceed the room */
    assert_int_equal(kernel_count_on(0), hm_huge_pages());
    assert_int_equal(mover.room_pages, room - hm_huge_pages());
}

/* The kernel says that no page is huge. */
static void test_small_pages_need_no_room_for_a_huge_one(void **state)
{
    (void)state;
    hm_mover_begin(&mover, 100, UINT64_MAX);
    promote(0, PAGES);
    assert_int_equal(mover.moved.promoted, 100);
    assert_int_equal(kernel_count_on(0), 100);
}

static void test_demoting_makes_room(void **state)
{
    (void)state;
    /* The plan's order decides, and not that of the addresses. */
    for (unsigned demoted = 0; demoted <= 1000; demoted += 1000) {
        struct hm_move moves[2] = {
            {.first = HM_PAGE(0, FIRST + demoted), .n_pages = 100, .limit = 100, .to = 1},
            {.first = HM_PAGE(0, FIRST + 1000 - demoted), .n_pages = 300, .limit = 300, .from = 1, .to = 0},
        };
        assert_int_equal(move_tear_down(NULL) | move_set_up(NULL), 0);
        for (unsigned i = 0; i < 100; i++)
            kernel.node[demoted + i] = 1;
        mover.has_huge = false;
        nodes.node[0].free_bytes = nodes.node[1].free_bytes = 0;
        hm_mover_begin(&mover, 0, UINT64_MAX);
        hm_mover_run(&mover, moves, 2);
        assert_int_equal(mover.moved.demoted, 100);
        assert_int_equal(mover.moved.promoted, 100); /* as many as the cap and the node have room for */
        assert_int_equal(kernel_count_on(3), 100);
        assert_int_equal(kernel_count_on(1), 100);
    }
}

/*
 * A request to end is noticed between two calls. So no call is long, not even the first; if moving is fast, there are
 * few calls.
 */
static void test_calls_are_short(void **state)
{
    (void)state;
    static const struct {
        double page_s, longest_s;
        unsigned most_calls;
    } rows[] = {{1e-6, 0.03, 4}, {1e-5, 0.04, 6}, {1e-4, 0.04, 20}, {4e-4, 0.06, 32}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(move_tear_down(NULL) | move_set_up(NULL), 0);
        hm_mover_free(&mover); /* back to the initial state */
        mover_start();
        mover.has_huge = false;
        kernel.page_s = rows[i].page_s;
        promote(0, PAGES);
        assert_int_equal(mover.moved.promoted, PAGES);
        if (kernel.longest_s > rows[i].longest_s || kernel.moves > rows[i].most_calls)
            fail_msg("row %zu: %u calls, the longest %f s", i, kernel.moves, kernel.longest_s);
    }
}

static void test_stop(void **state)
{
    (void)state;
    is_stopped = true;
    promote(0, 100);
    assert_int_equal(kernel.moves, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_only_what_is_elsewhere_is_submitted, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_outside_of_mappings_is_left_alone, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_holes_are_skipped, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_is_looked_at_without_need, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_a_small_move_looks_at_few_pages, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_a_demotion_goes_on_where_the_last_one_stopped, move_set_up,
                                        move_tear_down),
        cmocka_unit_test_setup_teardown(test_neighbours_share_a_call, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_each_goes_to_the_nearest_node, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_only_who_has_pages_to_move_is_asked_for_its_cpus, move_set_up,
                                        move_tear_down),
        cmocka_unit_test_setup_teardown(test_huge_pages_are_moved_once, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_a_part_of_a_huge_page_counts_whole, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_small_pages_where_huge_ones_could_be, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_limits, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_huge_pages_keep_the_cap, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_small_pages_need_no_room_for_a_huge_one, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_demoting_makes_room, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_calls_are_short, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_stop, move_set_up, move_tear_down),
    };
    const struct CMUnitTest large[] = {
        cmocka_unit_test_setup_teardown(test_only_what_is_elsewhere_is_submitted, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_each_goes_to_the_nearest_node, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_huge_pages_are_moved_once, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_a_part_of_a_huge_page_counts_whole, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_huge_pages_keep_the_cap, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_small_pages_need_no_room_for_a_huge_one, move_set_up, move_tear_down),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    page_shift = SHIFT_64K;
    return failed + cmocka_run_group_tests(large, NULL, NULL);
}
