/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests where pages of extents are, which memory is in no extent, the shares of accesses that the fast tier serves, and
 * the rows of the view for `hybridmem top`. move_pages(2) is replaced by a formula.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "migrator/live/tally.h"
#include "migrator/live/viewserver.h"
#include "migrator/move/residence.h"
#include "unit/lib/rows.h"

#define N_SPACES 3

long __wrap_move_pages(int pid, unsigned long count, void **pages, const int *to, int *status, int flags);

static size_t n_looks, n_calls;

/* Pages below 5000 are on node 0 (fast), pages below 100000 on node 2; of the rest, even ones are on node 2, and odd
 * ones absent. Process 12 has ended. */
long __wrap_move_pages(int pid, unsigned long count, void **pages, const int *to, int *status, int flags)
{
    (void)flags;
    assert_null(to);
    n_calls++;
    n_looks += count;
    if (pid == 12) {
        errno = ESRCH;
        return -1;
    }
    for (unsigned long i = 0; i < count; i++) {
        uint64_t page = (uint64_t)(uintptr_t)pages[i] >> hm_page_shift();
        status[i] = page < 5000 ? 0 : page < 100000 || page % 2 == 0 ? 2 : -ENOENT;
    }
    return 0;
}

static struct hm_range ranges[N_SPACES][3] = {
    {{1000, 8000}, {20000, 100}, {200000, 1000}}, {{1000, 10}, {0, 0}, {0, 0}}, {{1000, 10}, {0, 0}, {0, 0}}};
static struct hm_maps maps[N_SPACES];
static struct hm_rank rank[N_SPACES] = {{.pid = 10}, {.pid = 11, .is_gone = true}, {.pid = 12}};
static const struct hm_ranks ranks = {.n = N_SPACES, .rank = rank};
static struct hm_nodes nodes;
static struct hm_batch batch;
static struct hm_residence residence = {&ranks, maps, &nodes, &batch, NULL};

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SPACES; i++)
        maps[i] = (struct hm_maps){.range = ranges[i], .n = i == 0 ? 3 : 1};
    memset(nodes.index, -1, sizeof(nodes.index));
    nodes.n = 2;
    nodes.node[0] = (struct hm_node_state){.id = 0, .is_fast = true};
    nodes.node[1] = (struct hm_node_state){.id = 2};
    nodes.index[0] = 0;
    nodes.index[2] = 1;
    n_looks = n_calls = 0;
    return 0;
}

static void test_extents(void **state)
{
    (void)state;
    struct hm_extent extents[] = {
        {.first = HM_PAGE(0, 900), .n_pages = 200},      /* half of it is before the mapping */
        {.first = HM_PAGE(0, 1100), .n_pages = 7900},    /* sampled: 3900 fast, 4000 slow */
        {.first = HM_PAGE(0, 15000), .n_pages = 1000},   /* not mapped */
        {.first = HM_PAGE(0, 19000), .n_pages = 181500}, /* two mappings, the last one with holes */
        {.first = HM_PAGE(1, 1000), .n_pages = 10},      /* the process is gone */
        {.first = HM_PAGE(2, 1000), .n_pages = 10},      /* the process has just ended */
        {.first = HM_PAGE(9, 1000), .n_pages = 10},      /* no such space */
    };
    const size_t count = N_ROWS(extents);
    hm_residence_fill(&residence, extents, count, 1000 * count);
    assert_int_equal(extents[0].tier_pages[0], 100);
    assert_int_equal(extents[0].tier_pages[1], 0);
    assert_in_range(extents[1].tier_pages[0], 3890, 3910);
    assert_int_equal(extents[1].tier_pages[0] + extents[1].tier_pages[1], 7900);
    assert_int_equal(extents[2].tier_pages[0] + extents[2].tier_pages[1], 0);
    assert_int_equal(extents[3].tier_pages[0], 0);
    assert_int_equal(extents[3].tier_pages[1], 350); /* 100, and half of 500 */
    for (size_t i = 4; i < count; i++)
        assert_int_equal(extents[i].tier_pages[0] + extents[i].tier_pages[1], 0);
    assert_in_range(n_looks, 1700, 1720);
    assert_in_range(n_calls, 1, 6); /* few large calls */
}

/* Shared memory whose home is in process 10, and of which only process 13 has the odd pages in its page tables; and a
 * file. */
static void test_shared_and_files(void **state)
{
    (void)state;
    double apart[2] = {0, 0};
    struct hm_mapped home[] = {{.range = {1000, 8000}, .home = 1000, .kind = HM_MEMORY_FILE, .may_move = true},
                               {.range = {200000, 1000}, .home = 200000, .kind = HM_MEMORY_SHARED, .may_move = true}};
    struct hm_mapped alias = {
        .range = {50001, 1000}, .home = 200000, .kind = HM_MEMORY_SHARED, .may_move = true, .is_alias = true};
    struct hm_extent extents[] = {{.first = HM_PAGE(0, 4900), .n_pages = 300},
                                  {.first = HM_PAGE(0, 200000), .n_pages = 100}};
    maps[0].mapped = home;
    maps[0].n_mapped = N_ROWS(home);
    maps[2].mapped = &alias;
    maps[2].n_mapped = maps[2].n_aliases = 1;
    rank[2].pid = 13;
    residence.apart = apart;
    hm_residence_fill(&residence, extents, N_ROWS(extents), 1000);
    const int8_t wanted[] = {1, 0, 0, -1};
    const uint64_t page[] = {HM_PAGE(0, 4999), HM_PAGE(0, 200000), HM_PAGE(0, 200001), HM_PAGE(0, 208000001)};
    int8_t is_fast[4];
    hm_residence_look(&residence, page, is_fast, N_ROWS(page));
    residence.apart = NULL;
    rank[2].pid = 12;
    assert_int_equal(extents[0].tier_pages[0], 100);
    assert_int_equal(extents[1].tier_pages[1], 100); /* each page once */
    assert_true(apart[0] == 100 && apart[1] == 200);
    assert_memory_equal(is_fast, wanted, sizeof(wanted));
}

static void test_few_looks(void **state)
{
    (void)state;
    struct hm_extent extents[500];
    for (size_t i = 0; i < 500; i++)
        extents[i] = (struct hm_extent){.first = HM_PAGE(0, 1000 + 16 * i), .n_pages = 16};
    /* each extent gets two looks, even if that is more than was asked for */
    assert_int_equal(hm_residence_fill(&residence, extents, 500, 100), 500 * 2);
    assert_int_equal(n_looks, 500 * 2);
    assert_int_equal(extents[0].tier_pages[0], 16);
    assert_int_equal(extents[499].tier_pages[1], 16);
}

static void test_gaps(void **state)
{
    (void)state;
    static const struct {
        struct hm_extent extent[4];
        struct {
            uint64_t first, n_pages;
        } gap[6];
        size_t n_extents, n_gaps;
    } rows[] = {
        {{{0}}, {{1000, 8000}, {20000, 100}, {200000, 1000}, {HM_PAGE(2, 1000), 10}}, 0, 4},
        {{{.first = 0, .n_pages = 300000}, {.first = HM_PAGE(2, 0), .n_pages = 5000}}, {{0, 0}}, 2, 0},
        {{{.first = 1000, .n_pages = 8000}}, {{20000, 100}, {200000, 1000}, {HM_PAGE(2, 1000), 10}}, 1, 3},
        {{{.first = 1500, .n_pages = 100}, {.first = 8990, .n_pages = 11060}, {.first = 200999, .n_pages = 1}},
         {{1000, 500}, {1600, 7390}, {20050, 50}, {200000, 999}, {HM_PAGE(2, 1000), 10}},
         3,
         5},
        {{{.first = HM_PAGE(1, 1000), .n_pages = 10}, {.first = HM_PAGE(2, 1005), .n_pages = 5}},
         {{1000, 8000}, {20000, 100}, {200000, 1000}, {HM_PAGE(2, 1000), 5}},
         2,
         4},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_extent gaps[8];
        size_t n = hm_residence_gaps(&residence, rows[i].extent, rows[i].n_extents, gaps, 8);
        if (n != rows[i].n_gaps)
            fail_msg("row %zu: %zu gaps", i, n);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(gaps[k].first, rows[i].gap[k].first);
            assert_int_equal(gaps[k].n_pages, rows[i].gap[k].n_pages);
        }
    }
}

static void test_small_gaps_give_way(void **state)
{
    (void)state;
    struct hm_extent gaps[2];
    assert_int_equal(hm_residence_gaps(&residence, NULL, 0, gaps, 2), 2);
    assert_int_equal(gaps[0].first, 1000);
    assert_int_equal(gaps[1].first, 200000);
}

static void test_look(void **state)
{
    (void)state;
    const uint64_t page[] = {HM_PAGE(0, 1000), HM_PAGE(0, 9000), HM_PAGE(0, 200001), HM_PAGE(1, 1000),
                             HM_PAGE(2, 1000), HM_PAGE(7, 1000), HM_PAGE(0, 2000)};
    static const int8_t expected[] = {1, 0, -1, -1, -1, -1, 1};
    int8_t is_fast[7];
    hm_residence_look(&residence, page, is_fast, 7);
    assert_memory_equal(is_fast, expected, 7);
}

static void observe(struct hm_tally *tally, uint64_t page, float weight, bool is_movable)
{
    const struct hm_observation observation = {.page = page, .n_pages = 1, .reads = weight};
    hm_tally_add(tally, &observation, 2, is_movable);
}

static void test_shares_of_kinds(void **state)
{
    (void)state;
    static struct hm_tally tally;
    static const int8_t is_fast[] = {1, -1};
    double heat[HM_MEMORY_KINDS], stuck[HM_MEMORY_KINDS];
    hm_tally_init(&tally, 1, false);
    assert_false(hm_tally_kinds(&tally, heat, stuck)); /* no samples */
    for (int phase = 0; phase < 2; phase++) {
        observe(&tally, 10, 3, true);
        observe(&tally, 20, 1, phase == 0);
        assert_int_equal(hm_tally_choose(&tally), 2);
        tally.sample[1].kind = HM_MEMORY_SHARED;
        tally.sample[1].is_stuck = phase == 1;
        hm_tally_end(&tally, is_fast, 0.5);
    }
    assert_true(hm_tally_kinds(&tally, heat, stuck));
    assert_float_equal(heat[HM_MEMORY_PRIVATE], 0.75, 1e-9);
    assert_float_equal(heat[HM_MEMORY_SHARED], 0.25, 1e-9);
    assert_float_equal(stuck[HM_MEMORY_SHARED], 0.125, 1e-9);
    assert_true(heat[HM_MEMORY_FILE] == 0 && stuck[HM_MEMORY_PRIVATE] == 0);
    const struct hm_observation saturated = {.page = 10, .n_pages = 1, .reads = 1, .is_saturated = true};
    hm_tally_add(&tally, &saturated, 2, true);
    hm_tally_choose(&tally);
    hm_tally_end(&tally, is_fast, 0.5);
    assert_false(hm_tally_kinds(&tally, heat, stuck)); /* a ninth may be more than it was seen to be */
    assert_true(heat[HM_MEMORY_PRIVATE] == 0);
}

static void test_shares(void **state)
{
    (void)state;
    static struct hm_tally tally;
    static const int8_t is_fast[] = {1, 0, -1, 1}, none[] = {-1, -1, -1, -1};
    hm_tally_init(&tally, 1, false);
    hm_tally_end(&tally, is_fast, 0.5);
    assert_true(hm_tally_fast(&tally) < 0 && hm_tally_best(&tally) < 0 && tally.last < 0); /* no samples */
    observe(&tally, 40, 1, false);
    observe(&tally, 10, 3, true);
    observe(&tally, 20, 4, true);
    observe(&tally, 30, 100, true);
    observe(&tally, 99, 0, true); /* no weight */
    assert_int_equal(hm_tally_choose(&tally), 4);
    assert_int_equal(tally.sample[3].page, 40);
    hm_tally_end(&tally, is_fast, 0.75); /* 10 fast, 20 slow, 30 unknown, 40 fast and unmovable */
    assert_float_equal(tally.last, 4.0 / 8, 1e-9);
    assert_float_equal(hm_tally_fast(&tally), 4.0 / 8, 1e-9);
    assert_float_equal(hm_tally_best(&tally), (1 + 7 * 0.75) / 8, 1e-9);
    observe(&tally, 10, 108, true);
    assert_int_equal(hm_tally_choose(&tally), 1);
    hm_tally_end(&tally, is_fast, 0.1); /* this placement is better than the best one that is known (0.1) */
    assert_float_equal(tally.last, 1, 1e-9);
    assert_float_equal(hm_tally_fast(&tally), 0.75, 1e-9);
    assert_float_equal(hm_tally_best(&tally), ((1 + 7 * 0.75) / 8 + 1) / 2, 1e-9);
    observe(&tally, 10, 5, true);
    hm_tally_choose(&tally);
    hm_tally_end(&tally, none, 0.1);
    assert_true(tally.last < 0);
    assert_float_equal(hm_tally_fast(&tally), 0.75, 1e-9);
}

static void test_shares_of_many(void **state)
{
    (void)state;
    static struct hm_tally tally;
    static int8_t is_fast[HM_TALLY_PAGES];
    hm_tally_init(&tally, 7, false);
    for (uint64_t i = 0; i < 200000; i++)
        observe(&tally, i, 1, true);
    size_t n = hm_tally_choose(&tally);
    assert_int_equal(n, HM_TALLY_PAGES);
    for (size_t i = 0; i < n; i++)
        is_fast[i] = tally.sample[i].page < 60000;
    hm_tally_end(&tally, is_fast, -1);
    assert_float_equal(tally.last, 0.3, 0.05);
    assert_float_equal(hm_tally_best(&tally), hm_tally_fast(&tally), 1e-12); /* no better placement is known */
}

static void test_shares_of_writes_alone(void **state)
{
    (void)state;
    static struct hm_tally tally;
    static const int8_t is_fast[] = {1, 0};
    const struct hm_observation seen[] = {{.page = 10, .n_pages = 1, .reads = 8, .writes = 1},
                                          {.page = 20, .n_pages = 1, .reads = 1, .writes = 3},
                                          {.page = 30, .n_pages = 1, .reads = 99}};
    hm_tally_init(&tally, 1, true);
    for (size_t i = 0; i < 3; i++)
        hm_tally_add(&tally, &seen[i], 64, true);
    assert_int_equal(hm_tally_choose(&tally), 2);
    hm_tally_end(&tally, is_fast, 1);
    assert_float_equal(hm_tally_fast(&tally), 0.25, 1e-9);
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
    for (int8_t is_fast = 0; is_fast <= 1; is_fast++) {
        hm_tally_add(&tally, &seen, is_fast ? 64 : 1, true);
        assert_int_equal(hm_tally_choose(&tally), 1);
        hm_tally_end(&tally, &is_fast, -1);
    }
    assert_float_equal(hm_tally_fast(&tally), 64.0 / 65, 1e-9);
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
        int8_t is_fast[4];
        size_t n = 0;
        hm_tally_init(&tally, 1, false);
        for (uint64_t k = 0; k < 4; k++) {
            const struct hm_observation seen = {
                .page = k, .n_pages = 1, .reads = (float)reads[k], .is_saturated = k >= 2};
            hm_tally_add(&tally, &seen, 64, rows[i].is_movable);
            if (reads[k] > 0)
                is_fast[n++] = k % 2 == 0;
        }
        assert_int_equal(hm_tally_choose(&tally), n);
        hm_tally_end(&tally, is_fast, -1);
        assert_float_equal(tally.last, rows[i].last, 1e-6);
        assert_float_equal(hm_tally_fast(&tally), rows[i].last, 1e-6);
        assert_float_equal(hm_tally_best(&tally), rows[i].best, 1e-6);
        assert_int_equal(hm_tally_is_saturated(&tally), rows[i].last < 0 || rows[i].best < 0);
    }
}

/* Where little of a run was saturated, its share is known nevertheless: the first phase has 0 to 1, the second 0.5. */
static void test_shares_of_a_saturated_phase(void **state)
{
    (void)state;
    static struct hm_tally tally;
    const int8_t is_fast[] = {1, 0};
    hm_tally_init(&tally, 1, false);
    for (int phase = 0; phase < 2; phase++) {
        for (uint64_t k = 0; k < 2; k++) {
            const struct hm_observation seen = {
                .page = k, .n_pages = 1, .reads = phase == 0 ? 1 : 19, .is_saturated = phase == 0};
            hm_tally_add(&tally, &seen, 64, true);
        }
        assert_int_equal(hm_tally_choose(&tally), 2);
        hm_tally_end(&tally, is_fast, -1);
        assert_int_equal(hm_tally_is_saturated(&tally), phase == 0);
    }
    assert_float_equal(hm_tally_fast(&tally), 0.5, 1e-9);
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
    uint32_t order[4];
    for (size_t i = 0; i < N_ROWS(rows); i++)
        assert_float_equal(hm_tally_best_placement(extents, 4, rows[i].capacity, order), rows[i].share, 1e-9);
    assert_true(hm_tally_best_placement(extents, 0, 100, order) < 0);
    assert_true(hm_tally_best_placement(extents + 3, 1, 100, order) < 0);
}

/* Sums in different order are rounded differently: 13.8 + 58.3 + 86.8 is less than 86.8 + 58.3 + 13.8. */
static void test_the_best_share_is_never_above_1(void **state)
{
    (void)state;
    static struct hm_tally tally;
    const struct hm_extent extents[] = {
        {.reads = 13.8, .tier_pages[1] = 1}, {.reads = 58.3, .tier_pages[1] = 1}, {.reads = 86.8, .tier_pages[1] = 1}};
    const struct hm_observation seen = {.page = 10, .n_pages = 1, .reads = 1};
    const int8_t is_fast[] = {1, 1, 1};
    uint32_t order[3];
    assert_true(extents[0].reads + extents[1].reads + extents[2].reads <
                extents[2].reads + extents[1].reads + extents[0].reads);
    assert_true(hm_tally_best_placement(extents, 3, 3, order) == 1);
    hm_tally_init(&tally, 1, false);
    for (int i = 0; i < 3; i++)
        hm_tally_add(&tally, &seen, i == 0 ? 1 : 1e-16, i != 0);
    hm_tally_end(&tally, is_fast, 1);
    assert_true(hm_tally_best(&tally) == 1);
}

static void test_rows(void **state)
{
    (void)state;
    static struct hm_extent extents[1000];
    static struct hm_view_row rows[HM_VIEW_ROWS];
    for (uint64_t i = 0; i < 1000; i++)
        extents[i] = (struct hm_extent){
            .first = HM_PAGE(i / 500 * 2, 10 * (i % 500)), .n_pages = 8, .reads = 1, .tier_pages = {3, 4}};
    uint32_t n = hm_viewserver_rows(extents, 1000, &ranks, rows);
    assert_in_range(n, HM_VIEW_ROWS / 2, HM_VIEW_ROWS);
    uint64_t fast = 0;
    double reads = 0;
    for (uint32_t i = 0; i < n; i++) {
        assert_true(rows[i].pid == 10 || rows[i].pid == 12);
        assert_true(rows[i].fast_pages + rows[i].slow_pages <= rows[i].n_pages);
        assert_true(i == 0 || rows[i].pid != rows[i - 1].pid ||
                    rows[i].first >= rows[i - 1].first + rows[i - 1].n_pages);
        fast += rows[i].fast_pages;
        reads += (double)rows[i].reads;
    }
    assert_int_equal(fast, 3000);
    assert_float_equal(reads, 1000, 1e-3);
    assert_int_equal(hm_viewserver_rows(extents, 3, &ranks, rows), 3);
    assert_int_equal(hm_viewserver_rows(extents, 0, &ranks, rows), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_extents, set_up),
        cmocka_unit_test_setup(test_few_looks, set_up),
        cmocka_unit_test_setup(test_shared_and_files, set_up),
        cmocka_unit_test_setup(test_gaps, set_up),
        cmocka_unit_test_setup(test_small_gaps_give_way, set_up),
        cmocka_unit_test_setup(test_look, set_up),
        cmocka_unit_test(test_shares_of_kinds),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_shares_of_many),
        cmocka_unit_test(test_shares_of_writes_alone),
        cmocka_unit_test(test_phases_count_by_their_accesses),
        cmocka_unit_test(test_shares_of_saturated_memory),
        cmocka_unit_test(test_shares_of_a_saturated_phase),
        cmocka_unit_test(test_best_placement),
        cmocka_unit_test(test_the_best_share_is_never_above_1),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
