/* SPDX-License-Identifier: Apache-2.0 */
/* Tests moves between three tiers: node 0 is fast, 1 in the middle, 2 and 3 slow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "movefixture.h"

#define EACH 100u /* pages that each test has on nodes 0, 1 and 2, in this order */

static int set_up(void **state)
{
    if (move_set_up(state) != 0)
        return -1;
    nodes.n_tiers = 3;
    nodes.node[1].tier = 1;
    nodes.node[2].tier = nodes.node[3].tier = 2;
    mover.has_huge = false;
    for (unsigned i = 0; i < PAGES; i++)
        kernel.node[i] = i < 3 * EACH ? (int)(i / EACH) : ABSENT;
    return 0;
}

static struct hm_move move_all(unsigned from, unsigned to)
{
    return (struct hm_move){.first = HM_PAGE(0, FIRST), .n_pages = PAGES, .limit = PAGES, .from = from, .to = to};
}

/* Makes sure that so many pages are on nodes 0, 1, and 2 or 3. */
static void expect(unsigned fast, unsigned middle, unsigned slow)
{
    assert_int_equal(kernel_count_on(0), fast);
    assert_int_equal(kernel_count_on(1), middle);
    assert_int_equal(kernel_count_on(2) + kernel_count_on(3), slow);
}

static void a_move_takes_pages_of_one_tier(void **state)
{
    (void)state;
    static const struct {
        unsigned from, to, fast, middle, slow;
    } rows[] = {{1, 0, 200, 0, 100}, {2, 0, 200, 100, 0}, {2, 1, 100, 200, 0},
                {0, 1, 0, 200, 100}, {0, 2, 0, 100, 200}, {1, 2, 100, 0, 200}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hm_move one = move_all(rows[i].from, rows[i].to);
        bool is_up = rows[i].to < rows[i].from;
        assert_int_equal(move_tear_down(NULL) | set_up(NULL), 0);
        hm_mover_run(&mover, &one, 1);
        expect(rows[i].fast, rows[i].middle, rows[i].slow);
        assert_int_equal(mover.moved.promoted, is_up ? EACH : 0);
        assert_int_equal(mover.moved.demoted, is_up ? 0 : EACH);
        assert_int_equal(mover.moved.into_fast, rows[i].to == 0 ? EACH : 0);
        assert_int_equal(mover.moved.out_of_fast, rows[i].from == 0 ? EACH : 0);
    }
}

/* The fast node and the one in the middle are full, and the cap is reached: each move has the room that the one before
 * it has made. */
static void room_is_made_before_it_is_used(void **state)
{
    (void)state;
    struct hm_move moves[] = {move_all(1, 2), move_all(0, 1), move_all(2, 0)};
    moves[0].n_pages = moves[1].n_pages = 3 * EACH;
    nodes.node[0].free_bytes = nodes.node[1].free_bytes = 0;
    hm_mover_begin(&mover, 0, UINT64_MAX);
    hm_mover_run(&mover, moves, 3);
    expect(EACH, EACH, EACH);
    assert_int_equal(mover.moved.demoted, 2 * EACH);
    assert_int_equal(mover.moved.promoted, EACH);
    assert_int_equal(mover.room_pages, 0);
}

static void what_finds_no_room_goes_further_down_but_never_further_up(void **state)
{
    (void)state;
    struct hm_move moves[] = {move_all(0, 1), move_all(2, 1)};
    nodes.node[1].free_bytes = 30 * hm_page_size();
    hm_mover_run(&mover, &moves[0], 1);
    expect(0, EACH + 30, EACH + 70);
    assert_int_equal(mover.moved.out_of_fast, EACH);
    hm_mover_run(&mover, &moves[1], 1);
    expect(0, EACH + 30, EACH + 70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_move_takes_pages_of_one_tier, set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(room_is_made_before_it_is_used, set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(what_finds_no_room_goes_further_down_but_never_further_up, set_up,
                                        move_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
