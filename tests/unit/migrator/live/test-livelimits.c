/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what a step gives back that has more of the fast tier than its cap or its share: how much, and what first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "migrator/live/phaseparts.h"
#include "unit/lib/rows.h"

#define NONE UINT64_MAX
#define EXTENTS 3
#define GAPS 2

static struct hm_live live;
static struct hm_extent gaps[GAPS];
static struct {
    uint64_t first[8], pages[8];
    unsigned n;
} moved;

void __wrap_hm_mover_run(struct hm_mover *mover, struct hm_move *moves, size_t count);

/* All pages of a span are in the fast tier, and can be moved. */
void __wrap_hm_mover_run(struct hm_mover *mover, struct hm_move *moves, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t pages = moves[i].limit < moves[i].n_pages ? moves[i].limit : moves[i].n_pages;
        pages = pages < mover->budget_pages ? pages : mover->budget_pages;
        mover->budget_pages -= mover->budget_pages == NONE ? 0 : pages;
        mover->moved.demoted += pages;
        mover->moved.out_of_fast += pages;
        moved.first[moved.n] = moves[i].first;
        moved.pages[moved.n++] = pages;
    }
}

/* A step with 70 pages in the fast tier: 60 in extents, of which the second is the coldest, and 10 that nobody uses. */
static struct hm_live_end begin(struct hm_extent extents[EXTENTS], uint64_t planned_pages)
{
    static const struct hm_extent all[EXTENTS] = {{.first = 100, .n_pages = 10, .tier_pages = {10}, .priority = 5},
                                                  {.first = 200, .n_pages = 20, .tier_pages = {20}, .priority = 1},
                                                  {.first = 300, .n_pages = 30, .tier_pages = {30}, .priority = 3}};
    memcpy(extents, all, sizeof(all));
    gaps[0] = (struct hm_extent){.first = 10, .n_pages = 4, .tier_pages = {4}};
    gaps[1] = (struct hm_extent){.first = 20, .n_pages = 6, .tier_pages = {6}};
    memset(&moved, 0, sizeof(moved));
    live.signals = -1;
    live.gaps = gaps;
    live.nodes.n_tiers = 2;
    live.mover.moved = (struct hm_moved){.demoted = planned_pages, .out_of_fast = planned_pages};
    return (struct hm_live_end){
        .extent = extents, .n_extents = EXTENTS, .n_gaps = GAPS, .used_pages = {70 + planned_pages}, .gap_pages = {10}};
}

static void the_coldest_go_first_as_far_as_they_are_paid_for(void **state)
{
    (void)state;
    static const struct {
        uint64_t cap, share, rate, paid, planned; /* `planned`: pages that the plan has demoted */
        uint64_t first[5], pages[5];              /* the moves; 0: no more */
    } rows[] = {
        {70, NONE, NONE, NONE, 0, {0}, {0}},
        {20, NONE, NONE, 12, 0, {10, 20, 200}, {4, 6, 2}},
        {20, NONE, NONE, 12, 5, {10, 20}, {4, 3}},
        {20, NONE, NONE, 12, 12, {0}, {0}},
        {20, NONE, NONE, NONE, 0, {10, 20, 200, 300}, {4, 6, 20, 20}},
        {0, NONE, NONE, NONE, 0, {10, 20, 200, 300, 100}, {4, 6, 20, 30, 10}},
        {20, NONE, 8, 12, 5, {10, 20, 200, 300, 100}, {3}}, /* the rate holds, too */
        {NONE, 30, NONE, 0, 0, {10, 20}, {4, 6}},           /* a quarter for the share, paid for or not */
        {20, 30, NONE, 4, 0, {10, 20}, {4, 6}},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_extent extents[EXTENTS];
        struct hm_live_end end = begin(extents, rows[i].planned);
        live.cap_pages = rows[i].cap;
        live.share.pages = rows[i].share;
        hm_live_enforce_limits(&live, &end, rows[i].rate, rows[i].paid);
        for (size_t k = 0; k < N_ROWS(rows[i].first); k++)
            if (moved.first[k] != rows[i].first[k] || moved.pages[k] != rows[i].pages[k])
                fail_msg("row %zu, move %zu: %llu pages from %llu on", i, k, (unsigned long long)moved.pages[k],
                         (unsigned long long)moved.first[k]);
    }
}

/* Nothing was seen in use: that tells nothing at first, and later that the step is idle. */
static void nothing_goes_down_for_the_cap_blindly(void **state)
{
    (void)state;
    static const struct {
        uint64_t n_decided, cap, share, down;
    } rows[] = {{0, 20, NONE, 0}, {2, 20, NONE, 0}, {3, 20, NONE, 10}, {0, NONE, 50, 5}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_extent extents[EXTENTS];
        struct hm_live_end end = begin(extents, 0);
        end.n_extents = 0;
        live.n_decided = rows[i].n_decided;
        live.cap_pages = rows[i].cap;
        live.share.pages = rows[i].share;
        assert_int_equal(hm_live_above_cap(&live, &end), rows[i].down > 5 ? 50 : 0);
        hm_live_enforce_limits(&live, &end, NONE, NONE);
        assert_int_equal(live.mover.moved.demoted, rows[i].down);
    }
}

/* What may be in use without being seen: for the limits, before what was seen in use; else it counts as used. */
static void what_is_not_known_stays_below_the_limits(void **state)
{
    (void)state;
    static const struct {
        uint64_t cap, share, used, down[3]; /* used: as a plan has it; down: where pages go down, in turn */
    } rows[] = {{NONE, NONE, 70 - 4, {0}},
                {66, NONE, 70 - 4, {10}},
                {63, NONE, 63, {10, 20}},
                {50, NONE, 60, {10, 20, 200}},
                {NONE, 63, 63, {10}}}; /* a quarter of what is above the share */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_extent extents[EXTENTS];
        struct hm_live_end end = begin(extents, 0);
        end.n_gaps = 1;
        end.n_unseen = 1;
        end.gap_pages[0] = 4;
        end.unseen_pages[0] = 6;
        live.cap_pages = rows[i].cap;
        live.share.pages = rows[i].share;
        assert_int_equal(hm_live_used(&live, &end, 0), rows[i].used);
        assert_int_equal(hm_live_used(&live, &end, 1), 0);
        hm_live_enforce_limits(&live, &end, NONE, NONE);
        for (size_t k = 0; k < N_ROWS(rows[i].down); k++)
            assert_int_equal(moved.first[k], rows[i].down[k]);
    }
}

/* With a tier in the middle: from each tier, as much as is too much there. */
static void what_nobody_uses_goes_to_the_slowest_tier(void **state)
{
    (void)state;
    struct hm_extent extents[EXTENTS];
    struct hm_live_end end = begin(extents, 0);
    struct hm_move moves[GAPS];
    live.nodes.n_tiers = 3;
    gaps[1].tier_pages[1] = 9;
    assert_int_equal(hm_live_demote_unused(&live, &end, 1, 5, moves), 1);
    assert_int_equal(moves[0].first, 20);
    assert_int_equal(moves[0].limit, 5);
    assert_int_equal(moves[0].from, 1);
    assert_int_equal(moves[0].to, 2);
    assert_int_equal(hm_live_demote_unused(&live, &end, 0, 5, moves), 2);
    assert_int_equal(moves[1].from, 0);
    assert_int_equal(moves[1].to, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_coldest_go_first_as_far_as_they_are_paid_for),
                                       cmocka_unit_test(nothing_goes_down_for_the_cap_blindly),
                                       cmocka_unit_test(what_is_not_known_stays_below_the_limits),
                                       cmocka_unit_test(what_nobody_uses_goes_to_the_slowest_tier)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
