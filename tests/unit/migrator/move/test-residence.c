/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests where pages of extents are, which memory is in no extent, and the rows of the view for `hybridmem top`.
 * move_pages(2) is replaced by a formula.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/pagesize.h"
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
    nodes.n_tiers = 2;
    nodes.node[0] = (struct hm_node_state){.id = 0};
    nodes.node[1] = (struct hm_node_state){.id = 2, .tier = 1};
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
    double apart[HM_MAX_TIERS] = {0};
    struct hm_mapped home[] = {{.range = {1000, 8000}, .home = 1000, .kind = HM_MEMORY_FILE, .may_move = true},
                               {.range = {200000, 1000}, .home = 200000, .kind = HM_MEMORY_SHARED, .may_move = true}};
    const struct hm_mapped alias = {.range = {50001, 1000},
                                    .home = HM_PAGE(0, 200000),
                                    .kind = HM_MEMORY_SHARED,
                                    .may_move = true,
                                    .is_alias = true};
    struct hm_extent extents[] = {{.first = HM_PAGE(0, 4900), .n_pages = 300},
                                  {.first = HM_PAGE(0, 200000), .n_pages = 100}};
    maps[0].mapped = home;
    maps[0].n_mapped = N_ROWS(home);
    maps[2] = (struct hm_maps){.n = 0};
    assert_int_equal(hm_maps_add_mapped(&maps[2], &alias), 0);
    rank[2].pid = 13;
    residence.apart = apart;
    hm_residence_fill(&residence, extents, N_ROWS(extents), 1000);
    const int8_t wanted[] = {0, 1, 1, -1};
    const uint64_t page[] = {HM_PAGE(0, 4999), HM_PAGE(0, 200000), HM_PAGE(0, 200001), HM_PAGE(0, 208000001)};
    int8_t tier[4];
    hm_residence_look(&residence, page, tier, N_ROWS(page));
    residence.apart = NULL;
    rank[2].pid = 12;
    hm_maps_free(&maps[2]);
    assert_int_equal(extents[0].tier_pages[0], 100);
    assert_int_equal(extents[1].tier_pages[1], 100); /* each page once */
    assert_true(apart[0] == 100 && apart[1] == 200);
    assert_memory_equal(tier, wanted, sizeof(wanted));
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
        size_t n = hm_residence_gaps(&residence, rows[i].extent, rows[i].n_extents, false, gaps, 8);
        if (n != rows[i].n_gaps)
            fail_msg("row %zu: %zu gaps", i, n);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(gaps[k].first, rows[i].gap[k].first);
            assert_int_equal(gaps[k].n_pages, rows[i].gap[k].n_pages);
        }
    }
}

/* Lists the gaps that are seen (or are not), and checks where they begin. */
static void assert_gaps(bool is_unseen, size_t count, const uint64_t *first)
{
    struct hm_extent gaps[8];
    const struct hm_extent extent = {.first = 20000, .n_pages = 100};
    assert_int_equal(hm_residence_gaps(&residence, &extent, 1, is_unseen, gaps, 8), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(gaps[i].first, first[i]);
}

/* What a process may use without being seen is told apart, also where its home is in another process. */
static void what_is_not_seen_is_told_apart(void **state)
{
    (void)state;
    const uint64_t first[] = {1000, 200000, HM_PAGE(2, 1000)};
    struct hm_mapped home = {.range = {200000, 1000}, .home = 200000, .kind = HM_MEMORY_SHARED, .may_move = true};
    struct hm_mapped alias = home;
    alias.range.first = 50000;
    alias.is_alias = true;
    assert_gaps(false, 3, first);
    assert_gaps(true, 0, NULL);
    rank[0].has_unseen = true;
    assert_gaps(false, 1, first + 2);
    assert_gaps(true, 2, first);
    rank[0].has_unseen = false;
    rank[2].has_unseen = true;
    assert_gaps(false, 2, first);
    maps[0].mapped = &home;
    maps[0].n_mapped = 1;
    assert_int_equal(hm_maps_add_mapped(&maps[2], &alias), 0);
    assert_gaps(false, 1, first);
    assert_gaps(true, 2, first + 1);
    rank[2].has_unseen = false;
    rank[1].has_unseen = true; /* it is gone */
    assert_gaps(false, 3, first);
    rank[1].has_unseen = false;
    maps[2].range = NULL;
    hm_maps_free(&maps[2]);
}

static void test_small_gaps_give_way(void **state)
{
    (void)state;
    struct hm_extent gaps[2];
    assert_int_equal(hm_residence_gaps(&residence, NULL, 0, false, gaps, 2), 2);
    assert_int_equal(gaps[0].first, 1000);
    assert_int_equal(gaps[1].first, 200000);
}

static void test_look(void **state)
{
    (void)state;
    const uint64_t page[] = {HM_PAGE(0, 1000), HM_PAGE(0, 9000), HM_PAGE(0, 200001), HM_PAGE(1, 1000),
                             HM_PAGE(2, 1000), HM_PAGE(7, 1000), HM_PAGE(0, 2000)};
    static const int8_t expected[] = {0, 1, -1, -1, -1, -1, 0};
    int8_t tier[7];
    hm_residence_look(&residence, page, tier, 7);
    assert_memory_equal(tier, expected, 7);
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
        cmocka_unit_test_setup(what_is_not_seen_is_told_apart, set_up),
        cmocka_unit_test_setup(test_look, set_up),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
