/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the shares of accesses that the tiers serve, by the samples of phases, and that the best placement would.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "migrator/live/tally.h"
#include "unit/lib/rows.h"

static void observe(struct hm_tally *tally, uint64_t page, float weight, bool is_movable)
{
    const struct hm_observation observation = {.page = page, .n_pages = 1, .reads = weight};
    hm_tally_add(tally, &observation, 2, is_movable);
}

static void test_shares_of_kinds(void **state)
{
    (void)state;
    static struct hm_tally tally;
    static const int8_t tier[] = {0, -1};
    double heat[HM_MEMORY_KINDS], stuck[HM_MEMORY_KINDS];
    hm_tally_init(&tally, 1, false);
    assert_false(hm_tally_kinds(&tally, heat, stuck)); /* no samples */
    for (int phase = 0; phase < 2; phase++) {
        observe(&tally, 10, 3, true);
        observe(&tally, 20, 1, phase == 0);
        assert_int_equal(hm_tally_choose(&tally), 2);
        tally.sample[1].kind = HM_MEMORY_SHARED;
        tally.sample[1].is_stuck = phase == 1;
        hm_tally_end(&tally, tier, 0.5);
    }
    assert_true(hm_tally_kinds(&tally, heat, stuck));
    assert_float_equal(heat[HM_MEMORY_PRIVATE], 0.75, 1e-9);
    assert_float_equal(heat[HM_MEMORY_SHARED], 0.25, 1e-9);
    assert_float_equal(stuck[HM_MEMORY_SHARED], 0.125, 1e-9);
    assert_true(heat[HM_MEMORY_FILE] == 0 && stuck[HM_MEMORY_PRIVATE] == 0);
    const struct hm_observation saturated = {.page = 10, .n_pages = 1, .reads = 1, .is_saturated = true};
    hm_tally_add(&tally, &saturated, 2, true);
    hm_tally_choose(&tally);
    hm_tally_end(&tally, tier, 0.5);
    assert_false(hm_tally_kinds(&tally, heat, stuck)); /* a ninth may be more than it was seen to be */
    assert_true(heat[HM_MEMORY_PRIVATE] == 0);
}

static void test_shares(void **state)
{
    (void)state;
    static struct hm_tally tally;
    static const int8_t tier[] = {0, 1, -1, 0}, none[] = {-1, -1, -1, -1};
    hm_tally_init(&tally, 1, false);
    hm_tally_end(&tally, tier, 0.5);
    assert_true(hm_tally_share(&tally, 0) < 0 && hm_tally_best(&tally) < 0 && tally.last < 0); /* no samples */
    observe(&tally, 40, 1, false);
    observe(&tally, 10, 3, true);
    observe(&tally, 20, 4, true);
    observe(&tally, 30, 100, true);
    observe(&tally, 99, 0, true); /* no weight */
    assert_int_equal(hm_tally_choose(&tally), 4);
    assert_int_equal(tally.sample[3].page, 40);
    hm_tally_end(&tally, tier, 0.75); /* 10 fast, 20 slow, 30 unknown, 40 fast and unmovable */
    assert_float_equal(tally.last, 4.0 / 8, 1e-9);
    assert_float_equal(hm_tally_share(&tally, 0), 4.0 / 8, 1e-9);
    assert_float_equal(hm_tally_best(&tally), (1 + 7 * 0.75) / 8, 1e-9);
    observe(&tally, 10, 108, true);
    assert_int_equal(hm_tally_choose(&tally), 1);
    hm_tally_end(&tally, tier, 0.1); /* this placement is better than the best one that is known (0.1) */
    assert_float_equal(tally.last, 1, 1e-9);
    assert_float_equal(hm_tally_share(&tally, 0), 0.75, 1e-9);
    assert_float_equal(hm_tally_best(&tally), ((1 + 7 * 0.75) / 8 + 1) / 2, 1e-9);
    observe(&tally, 10, 5, true);
    hm_tally_choose(&tally);
    hm_tally_end(&tally, none, 0.1);
    assert_true(tally.last < 0);
    assert_float_equal(hm_tally_share(&tally, 0), 0.75, 1e-9);
}

static void test_shares_of_many(void **state)
{
    (void)state;
    static struct hm_tally tally;
    static int8_t tier[HM_TALLY_PAGES];
    hm_tally_init(&tally, 7, false);
    for (uint64_t i = 0; i < 200000; i++)
        observe(&tally, i, 1, true);
    size_t n = hm_tally_choose(&tally);
    assert_int_equal(n, HM_TALLY_PAGES);
    for (size_t i = 0; i < n; i++)
        tier[i] = tally.sample[i].page >= 60000;
    hm_tally_end(&tally, tier, -1);
    assert_float_equal(tally.last, 0.3, 0.05);
    assert_float_equal(hm_tally_best(&tally), hm_tally_share(&tally, 0), 1e-12); /* no better placement is known */
}

static void test_shares_of_writes_alone(void **state)
{
    (void)state;
    static struct hm_tally tally;
    static const int8_t tier[] = {0, 1};
    const struct hm_observation seen[] = {{.page = 10, .n_pages = 1, .reads = 8, .writes = 1},
                                          {.page = 20, .n_pages = 1, .reads = 1, .writes = 3},
                                          {.page = 30, .n_pages = 1, .reads = 99}};
    hm_tally_init(&tally, 1, true);
    for (size_t i = 0; i < 3; i++)
        hm_tally_add(&tally, &seen[i], 64, true);
    assert_int_equal(hm_tally_choose(&tally), 2);
    hm_tally_end(&tally, tier, 1);
    assert_float_equal(hm_tally_share(&tally, 0), 0.25, 1e-9);
    assert_float_equal(hm_tally_best(&tally), 1, 1e-9);
}

/*
 * Phases have the weight of their accesses, not of their samples: a sample of another source may stand for another
 * number of accesses.
 */
static void test_phases_count_by_their_accesses(void **state)
{
    (void)state;
    static struct hm_tally tally;
    const struct hm_observation seen = {.page = 10, .n_pages = 1, .reads = 8};
    hm_tally_init(&tally, 1, false);
    for (int8_t tier = 0; tier <= 1; tier++) {
        hm_tally_add(&tally, &seen, tier == 0 ? 64 : 1, true);
        assert_int_equal(hm_tally_choose(&tally), 1);
        hm_tally_end(&tally, &tier, -1);
    }
    assert_float_equal(hm_tally_share(&tally, 0), 64.0 / 65, 1e-9);
}

/* Saturated pages may have any number of accesses more than were seen. */
static void test_shares_of_saturated_memory(void **state)
{
    (void)state;
    static const struct {
        double fast, slow;                     /* samples of pages that are not saturated */
        double saturated_fast, saturated_slow; /* samples of those that are */
        bool is_movable;
        double last, best; /* negative: not known */
    } rows[] = {
        {30, 70, 0, 0, true, 0.30, 0.30},       /* nothing is saturated */
        {20, 70, 10, 0, true, -1, -1},          /* the fast tier may have served anything from 0.3 to 1 */
        {2, 8, 90, 0, true, 0.96, 0.96},        /* at least 0.92 */
        {1, 9, 0, 90, true, 0.005, -1},         /* at most 0.01, and the best placement could have served any of them */
        {92, 0, 0, 8, false, -1, -1},           /* no placement can serve what cannot be moved to the fast tier */
        {10, 10, 40, 40, true, -1, -1},         /* in both tiers */
        {69.5, 30, 0, 0.5, true, 0.695, 0.695}, /* too little to matter */
    };
    static struct hm_tally tally;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const double reads[] = {rows[i].fast, rows[i].slow, rows[i].saturated_fast, rows[i].saturated_slow};
        int8_t tier[4];
        size_t n = 0;
        hm_tally_init(&tally, 1, false);
        for (uint64_t k = 0; k < 4; k++) {
            const struct hm_observation seen = {
                .page = k, .n_pages = 1, .reads = (float)reads[k], .is_saturated = k >= 2};
            hm_tally_add(&tally, &seen, 64, rows[i].is_movable);
            if (reads[k] > 0)
                tier[n++] = k % 2;
        }
        assert_int_equal(hm_tally_choose(&tally), n);
        hm_tally_end(&tally, tier, -1);
        assert_float_equal(tally.last, rows[i].last, 1e-6);
        assert_float_equal(hm_tally_share(&tally, 0), rows[i].last, 1e-6);
        assert_float_equal(hm_tally_share(&tally, 1), rows[i].last < 0 ? -1 : 1 - rows[i].last, 1e-6);
        assert_float_equal(hm_tally_best(&tally), rows[i].best, 1e-6);
        assert_int_equal(hm_tally_is_saturated(&tally), rows[i].last < 0 || rows[i].best < 0);
    }
}

/* Where little of a run was saturated, its share is known nevertheless: the first phase has 0 to 1, the second 0.5. */
static void test_shares_of_a_saturated_phase(void **state)
{
    (void)state;
    static struct hm_tally tally;
    const int8_t tier[] = {0, 1};
    hm_tally_init(&tally, 1, false);
    for (int phase = 0; phase < 2; phase++) {
        for (uint64_t k = 0; k < 2; k++) {
            const struct hm_observation seen = {
                .page = k, .n_pages = 1, .reads = phase == 0 ? 1 : 19, .is_saturated = phase == 0};
            hm_tally_add(&tally, &seen, 64, true);
        }
        assert_int_equal(hm_tally_choose(&tally), 2);
        hm_tally_end(&tally, tier, -1);
        assert_int_equal(hm_tally_is_saturated(&tally), phase == 0);
    }
    assert_float_equal(hm_tally_share(&tally, 0), 0.5, 1e-9);
}

/* Of three tiers one may have served more than was seen. */
static void test_shares_of_three_tiers(void **state)
{
    (void)state;
    static const struct {
        double reads[3];
        int saturated; /* the tier whose pages are; negative: none */
        double share[3];
    } rows[] = {
        {{50, 30, 20}, -1, {0.5, 0.3, 0.2}},
        {{50, 30, 20}, 1, {-1, -1, -1}},
        {{90, 5, 5}, 0, {0.95, 0.025, 0.025}},
        {{20, 74, 6}, 0, {-1, -1, 0.03}}, /* the last one served 0.06 at most */
    };
    static struct hm_tally tally;
    static const int8_t tier[] = {0, 1, 2};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        hm_tally_init(&tally, 1, false);
        for (int t = 0; t < 3; t++) {
            const struct hm_observation seen = {.page = (uint64_t)t,
                                                .n_pages = 1,
                                                .reads = (float)rows[i].reads[t],
                                                .is_saturated = t == rows[i].saturated};
            hm_tally_add(&tally, &seen, 64, true);
        }
        hm_tally_choose(&tally);
        hm_tally_end(&tally, tier, -1);
        for (unsigned t = 0; t < 3; t++)
            assert_float_equal(hm_tally_share(&tally, t), rows[i].share[t], 1e-6);
    }
}

static void test_best_placement(void **state)
{
    (void)state;
    const struct hm_extent extents[] = {
        {.reads = 10, .tier_pages[0] = 100},
        {.reads = 50, .writes = 20, .tier_pages[1] = 100},
        {.reads = 20, .tier_pages[1] = 1000},
        {.reads = 999}, /* no present pages */
    };
    static const struct {
        uint64_t capacity;
        double share;
    } rows[] = {{0, 0}, {50, 0.35}, {100, 0.7}, {150, 0.75}, {200, 0.8}, {700, 0.9}, {5000, 1}};
    struct hm_tally_rank rank[4];
    for (size_t i = 0; i < N_ROWS(rows); i++)
        assert_float_equal(hm_tally_best_placement(extents, 4, rows[i].capacity, rank), rows[i].share, 1e-9);
    assert_true(hm_tally_best_placement(extents, 0, 100, rank) < 0);
    assert_true(hm_tally_best_placement(extents + 3, 1, 100, rank) < 0);
}

/* Sums in different order are rounded differently: 13.8 + 58.3 + 86.8 is less than 86.8 + 58.3 + 13.8. */
static void test_the_best_share_is_never_above_1(void **state)
{
    (void)state;
    static struct hm_tally tally;
    const struct hm_extent extents[] = {
        {.reads = 13.8, .tier_pages[1] = 1}, {.reads = 58.3, .tier_pages[1] = 1}, {.reads = 86.8, .tier_pages[1] = 1}};
    const struct hm_observation seen = {.page = 10, .n_pages = 1, .reads = 1};
    const int8_t tier[] = {0, 0, 0};
    struct hm_tally_rank rank[3];
    assert_true(extents[0].reads + extents[1].reads + extents[2].reads <
                extents[2].reads + extents[1].reads + extents[0].reads);
    assert_true(hm_tally_best_placement(extents, 3, 3, rank) == 1);
    hm_tally_init(&tally, 1, false);
    for (int i = 0; i < 3; i++)
        hm_tally_add(&tally, &seen, i == 0 ? 1 : 1e-16, i != 0);
    hm_tally_end(&tally, tier, 1);
    assert_true(hm_tally_best(&tally) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_of_kinds),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_shares_of_many),
        cmocka_unit_test(test_shares_of_writes_alone),
        cmocka_unit_test(test_phases_count_by_their_accesses),
        cmocka_unit_test(test_shares_of_saturated_memory),
        cmocka_unit_test(test_shares_of_a_saturated_phase),
        cmocka_unit_test(test_shares_of_three_tiers),
        cmocka_unit_test(test_best_placement),
        cmocka_unit_test(test_the_best_share_is_never_above_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
