/* SPDX-License-Identifier: Apache-2.0 */
/* Moving pages, over a model of the kernel. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "helpers/migrator/mover.h"
#include "movekernel.h"

static struct hm_nodes nodes;
static struct hm_maps maps[1];
static struct hm_range range = {FIRST, PAGES};
static struct hm_rank rank = {.pid = MODEL_PID};
static struct hm_ranks ranks = {.n = 1, .rank = &rank};
static struct hm_mover mover;
static bool is_ours, is_stopped;

bool __wrap_hm_ranks_is_ours(const struct hm_ranks *all, uint32_t space);
void __wrap_hm_nodes_refresh(struct hm_nodes *all);

bool __wrap_hm_ranks_is_ours(const struct hm_ranks *all, uint32_t space)
{
    (void)all, (void)space;
    return is_ours;
}

void __wrap_hm_nodes_refresh(struct hm_nodes *all)
{
    (void)all;
}

static bool stop(void *data)
{
    (void)data;
    return is_stopped;
}

/* Nodes 0, 1 are fast, 2, 3 slow; 0 is near 2, 1 near 3. Room for all on each. */
static void add_node(int id)
{
    struct hm_node_state *node = &nodes.node[id];
    *node = (struct hm_node_state){.id = id, .is_fast = id < 2, .total_bytes = 1u << 30, .free_bytes = PAGES * 4096u};
    for (int other = 0; other < 4; other++)
        node->distance[other] = (uint8_t)(id == other ? 10 : (id ^ other) == 2 ? 17 : 28);
    nodes.index[id] = (int8_t)id;
}

static int set_up(void **state)
{
    (void)state;
    kernel_reset(2);
    memset(nodes.index, -1, sizeof(nodes.index));
    nodes.n = 4;
    for (int id = 0; id < 4; id++)
        add_node(id);
    maps[0] = (struct hm_maps){.range = &range, .n = 1, .room = 1, .n_pages = PAGES};
    is_ours = true;
    is_stopped = false;
    assert_int_equal(hm_mover_init(&mover, &nodes, &ranks, maps, stop, NULL, NULL), 0);
    mover.has_huge = true;
    mover.batch_pages = HM_BATCH_PAGES;
    hm_mover_begin(&mover, UINT64_MAX, UINT64_MAX);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hm_mover_free(&mover);
    return 0;
}

static void promote(unsigned first, unsigned count)
{
    struct hm_move one = {.first = HM_PAGE(0, FIRST + first), .n_pages = count, .limit = count, .to_fast = true};
    hm_mover_run(&mover, &one, 1);
}

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
    assert_int_equal(kernel.n_asked, 200); /* not where the holes are */
    assert_int_equal(nodes.node[0].free_bytes, (PAGES - 100) * 4096u);
    assert_int_equal(nodes.node[2].free_bytes, (PAGES + 100) * 4096u);
}

static void test_outside_of_mappings_is_left_alone(void **state)
{
    (void)state;
    struct hm_move all = {.first = HM_PAGE(0, 1), .n_pages = UINT64_C(1) << 40, .limit = UINT64_MAX, .to_fast = true};
    range.n_pages = 10;
    hm_mover_run(&mover, &all, 1);
    range.n_pages = PAGES;
    assert_int_equal(mover.moved.promoted, 10);
    all.first = HM_PAGE(1, FIRST); /* no such process */
    hm_mover_run(&mover, &all, 1);
    assert_int_equal(mover.moved.promoted, 10);
}

/* A mapping of which next to nothing is there. */
static void test_holes_are_skipped(void **state)
{
    (void)state;
    struct hm_move all = {.first = HM_PAGE(0, FIRST), .n_pages = 1u << 30, .limit = UINT64_MAX, .to_fast = true};
    for (unsigned i = 0; i < PAGES; i++)
        kernel.node[i] = i % 1000 == 999 ? 2 : ABSENT;
    range.n_pages = 1u << 30;
    hm_mover_run(&mover, &all, 1);
    range.n_pages = PAGES;
    assert_int_equal(mover.moved.promoted, PAGES / 1000);
    assert_int_equal(kernel.n_submitted, PAGES / 1000); /* each by itself: none can be in a huge page */
    assert_int_equal(kernel.n_asked, PAGES / 1000);
}

static void test_nothing_is_looked_at_without_need(void **state)
{
    (void)state;
    struct hm_move none = {.first = HM_PAGE(0, FIRST), .n_pages = PAGES, .limit = 0, .to_fast = true};
    hm_mover_run(&mover, &none, 1);
    hm_mover_begin(&mover, UINT64_MAX, 0);
    none.limit = PAGES;
    hm_mover_run(&mover, &none, 1);
    assert_int_equal(kernel.n_asked, 0);
}

static void test_neighbours_share_a_call(void **state)
{
    (void)state;
    struct hm_move moves[40];
    for (unsigned i = 0; i < 40; i++)
        moves[i] =
            (struct hm_move){.first = HM_PAGE(0, FIRST + (39 - i) * 8), .n_pages = 4, .limit = 4, .to_fast = true};
    mover.has_huge = false;
    hm_mover_run(&mover, moves, 40);
    assert_int_equal(mover.moved.promoted, 160);
    assert_int_equal(kernel.moves, 1);
}

static void test_each_goes_to_the_nearest_node(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PAGES; i++)
        kernel.node[i] = i % 2 ? 2 : 3;
    promote(0, 100);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(kernel.node[i], i % 2 ? 0 : 1);
    nodes.node[0].free_bytes = 10 * 4096;
    promote(100, 100); /* 50 from node 2: ten have room near, the others go far */
    assert_int_equal(mover.moved.promoted, 200);
    assert_int_equal(kernel_count_on(0), 60);
    assert_int_equal(kernel_count_on(1), 140);
}

static void test_huge_pages_are_moved_once(void **state)
{
    (void)state;
    for (unsigned block = 0; block < 4; block++)
        kernel.is_huge[block] = true;
    promote(0, 4 * HM_BATCH_HUGE);
    assert_int_equal(kernel.n_submitted, 4);
    assert_int_equal(kernel.moves, 1);
    assert_int_equal(mover.moved.promoted, 4 * HM_BATCH_HUGE);
    assert_int_equal(kernel_count_on(0), 4 * HM_BATCH_HUGE);
    for (int reason = 0; reason < HM_UNMOVED_REASONS; reason++)
        assert_int_equal(mover.moved.unmoved[reason], 0);
}

static void test_a_part_of_a_huge_page_counts_whole(void **state)
{
    (void)state;
    kernel.is_huge[1] = kernel.is_huge[2] = true;
    promote(HM_BATCH_HUGE + 100, 20);
    assert_int_equal(mover.moved.promoted, HM_BATCH_HUGE);
    assert_int_equal(kernel.n_submitted, 1);
    promote(2 * HM_BATCH_HUGE + 33, 1); /* a single page, too */
    assert_int_equal(mover.moved.promoted, 2 * HM_BATCH_HUGE);
    promote(3 * HM_BATCH_HUGE + 33, 1); /* of small ones */
    assert_int_equal(mover.moved.promoted, 2 * HM_BATCH_HUGE + 1);
    assert_int_equal(kernel.n_submitted, 3);
    assert_int_equal(nodes.node[0].free_bytes, (PAGES - 2 * HM_BATCH_HUGE - 1) * 4096u);
}

static void test_small_pages_where_huge_ones_could_be(void **state)
{
    (void)state;
    kernel.is_huge[1] = true;
    promote(0, 3 * HM_BATCH_HUGE);
    assert_int_equal(mover.moved.promoted, 3 * HM_BATCH_HUGE);
    assert_int_equal(kernel.moves, 2);
    assert_int_equal(kernel.n_submitted, 2 * HM_BATCH_HUGE + 1);
    assert_int_equal(nodes.node[0].free_bytes, (PAGES - 3 * HM_BATCH_HUGE) * 4096u);
}

static void test_shared_pages_are_remembered(void **state)
{
    (void)state;
    for (unsigned i = 100; i < 150; i++)
        kernel.is_shared[i] = true;
    promote(0, 300);
    assert_int_equal(mover.moved.promoted, 250);
    assert_int_equal(mover.moved.unmoved[HM_UNMOVED_SHARED], 50);
    hm_mover_begin(&mover, UINT64_MAX, UINT64_MAX);
    size_t before = kernel.n_submitted;
    promote(0, 300);
    assert_int_equal(kernel.n_submitted, before);
    assert_int_equal(mover.moved.unmoved[HM_UNMOVED_SHARED], 0);
    /* The mapping is gone and another is there: nothing is remembered of it. */
    hm_mover_forget(&mover, HM_PAGE(0, FIRST), PAGES);
    memset(kernel.is_shared, 0, sizeof(kernel.is_shared));
    promote(0, 300);
    assert_int_equal(mover.moved.promoted, 50);
}

static void test_pinned_pages_hold_up_nobody(void **state)
{
    (void)state;
    kernel.is_pinned[10] = kernel.is_pinned[200] = true;
    for (unsigned i = 300; i < 400; i++)
        kernel.node[i] = 3; /* a second destination, behind the one that fails */
    mover.has_huge = false;
    promote(0, 400);
    assert_int_equal(mover.moved.promoted, 398);
    assert_int_equal(mover.moved.unmoved[HM_UNMOVED_BUSY], 2);
    assert_int_equal(kernel_count_on(1), 100);
    assert_int_equal(kernel.submitted[10], 1); /* no retry in a phase */
    assert_int_equal(kernel.submitted[200], 1);
    promote(0, 400); /* once may be chance */
    assert_int_equal(kernel.submitted[10], 2);
    promote(0, 400);
    assert_int_equal(kernel.submitted[10], 2);
    assert_int_equal(mover.moved.unmoved[HM_UNMOVED_BUSY], 4);
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
        {0, UINT64_MAX, UINT64_MAX, 0},
        {400, 0, UINT64_MAX, 0},
        {400, UINT64_MAX, 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (unsigned page = 0; page < PAGES; page++)
            kernel.node[page] = 2;
        struct hm_move one = {.first = HM_PAGE(0, FIRST), .n_pages = 400, .limit = rows[i].limit, .to_fast = true};
        mover.has_huge = false;
        hm_mover_begin(&mover, rows[i].room, rows[i].budget);
        hm_mover_run(&mover, &one, 1);
        assert_int_equal(mover.moved.promoted, rows[i].promoted);
        assert_int_equal(kernel_count_on(0), rows[i].promoted);
    }
}

static void test_huge_pages_keep_the_cap(void **state)
{
    (void)state;
    memset(kernel.is_huge, 1, sizeof(kernel.is_huge));
    hm_mover_begin(&mover, 1000, UINT64_MAX);
    promote(0, PAGES);
    assert_int_equal(mover.moved.promoted, HM_BATCH_HUGE); /* a second one would be above it */
    assert_int_equal(kernel_count_on(0), HM_BATCH_HUGE);
    assert_int_equal(mover.room_pages, 1000 - HM_BATCH_HUGE);
}

static void test_demoting_makes_room(void **state)
{
    (void)state;
    struct hm_move moves[2] = {
        {.first = HM_PAGE(0, FIRST), .n_pages = 100, .limit = 100},
        {.first = HM_PAGE(0, FIRST + 1000), .n_pages = 300, .limit = 300, .to_fast = true},
    };
    for (unsigned i = 0; i < 100; i++)
        kernel.node[i] = 1;
    mover.has_huge = false;
    nodes.node[0].free_bytes = nodes.node[1].free_bytes = 0;
    hm_mover_begin(&mover, 0, UINT64_MAX);
    hm_mover_run(&mover, moves, 2);
    assert_int_equal(mover.moved.demoted, 100);
    assert_int_equal(mover.moved.promoted, 100); /* as many as there was room for, in the cap and on the node */
    assert_int_equal(kernel_count_on(3), 100);
    assert_int_equal(kernel_count_on(1), 100);
}

static void test_a_node_that_is_refused(void **state)
{
    (void)state;
    kernel.closed = 0;
    mover.has_huge = false;
    promote(0, 100);
    assert_int_equal(mover.moved.promoted, 0);
    assert_int_equal(mover.moved.unmoved[HM_UNMOVED_DENIED], 100);
    assert_int_equal(mover.refused, 0);
    promote(0, 100); /* from now on the other one */
    assert_int_equal(mover.moved.promoted, 100);
    assert_int_equal(kernel_count_on(1), 100);
}

static void test_refused_among_others(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 200; i++)
        kernel.node[i] = i % 2 ? 2 : 3;
    kernel.closed = 0; /* sorted first: the others come behind the failure */
    mover.has_huge = false;
    promote(0, 200);
    assert_int_equal(mover.moved.promoted, 100);
    assert_int_equal(mover.moved.unmoved[HM_UNMOVED_DENIED], 100);
}

static void test_a_node_that_is_full(void **state)
{
    (void)state;
    kernel.full = 0;
    mover.has_huge = false;
    promote(0, 100);
    assert_int_equal(mover.moved.promoted, 0);
    assert_int_equal(mover.moved.unmoved[HM_UNMOVED_ROOM], 100);
    assert_int_equal(nodes.node[0].free_bytes, 0);
    promote(0, 100); /* not again in this phase */
    assert_int_equal(kernel_count_on(1), 100);
}

static void test_a_process_that_is_not_ours(void **state)
{
    (void)state;
    static const int numbers[] = {ESRCH, EPERM};
    is_ours = false;
    promote(0, 100);
    assert_int_equal(kernel.moves, 0);
    assert_int_equal(mover.moved.promoted, 0);
    assert_int_equal(nodes.node[0].free_bytes, PAGES * 4096u); /* what was set aside is back */
    is_ours = true;
    for (size_t i = 0; i < 2; i++) {
        kernel.result = numbers[i];
        kernel.moves = 0;
        promote(0, 100);
        assert_int_equal(mover.moved.promoted, 0);
        assert_int_equal(kernel.moves, 1);
    }
}

/* Between two calls an end is seen: from the first one on none is long, and where moving is quick they are few. */
static void test_calls_are_short(void **state)
{
    (void)state;
    static const struct {
        double page_s, longest_s;
        unsigned most_calls;
    } rows[] = {{1e-6, 0.03, 4}, {1e-5, 0.04, 6}, {1e-4, 0.04, 20}, {4e-4, 0.06, PAGES / 128}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(tear_down(NULL) | set_up(NULL), 0);
        hm_mover_free(&mover); /* as it begins by itself */
        assert_int_equal(hm_mover_init(&mover, &nodes, &ranks, maps, stop, NULL, NULL), 0);
        hm_mover_begin(&mover, UINT64_MAX, UINT64_MAX);
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
        cmocka_unit_test_setup_teardown(test_only_what_is_elsewhere_is_submitted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_outside_of_mappings_is_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_holes_are_skipped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_is_looked_at_without_need, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_neighbours_share_a_call, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_each_goes_to_the_nearest_node, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_huge_pages_are_moved_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_part_of_a_huge_page_counts_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_small_pages_where_huge_ones_could_be, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shared_pages_are_remembered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pinned_pages_hold_up_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_huge_pages_keep_the_cap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_demoting_makes_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_node_that_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused_among_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_node_that_is_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_process_that_is_not_ours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_calls_are_short, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stop, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
