/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which pages DAMON looks at in bursts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "looksfixture.h"
#include "unit/lib/pageshift.h"
#include "unit/lib/rows.h"

#define GIB_PAGES (UINT64_C(1) << 18)

static void a_round_looks_once_at_every_part_of_all_ranges(void **state)
{
    (void)state;
    looks_add_range(0, 5, 6);
    looks_add_range(0, 7, 1000);
    looks_add_range(0, 1000, 1017);
    looks_add_range(1, 7, 3 * GIB_PAGES + 11);
    looks_add_range(2, (UINT64_C(1) << 45) - 1, UINT64_C(1) << 45); /* the last page that a process can have */
    looks_begin(3, BUDGET);
    for (int round = 0; round < 3; round++) {
        looks_run_round(looks_some);
        looks_check_round(3);
    }
}

/* Without this, processes with many small mappings would have no room for their large ones, or would keep the round
 * from its end. */
static void the_most_processes_with_the_most_ranges_are_looked_at(void **state)
{
    (void)state;
    for (unsigned p = 0; p < HM_DAMON_TARGETS; p++)
        for (unsigned r = 0; r < HM_DAMON_RANGES; r++)
            looks_add_range(p, 1000 + r * (2 * GIB_PAGES) + p,
                            1000 + r * (2 * GIB_PAGES) + p + (r == 0 ? 1 : GIB_PAGES));
    looks_begin(HM_DAMON_TARGETS, 100);
    assert_in_range(probing.n_blocks, HM_DAMON_TARGETS * HM_DAMON_RANGES, HM_DAMON_MOST_BLOCKS);
    looks_run_round(looks_some);
    looks_check_round(HM_DAMON_TARGETS);
}

/* What has to be set up for a burst, for each page of each process, stays the same. */
static void each_burst_has_as_many_pages_of_each_process(void **state)
{
    (void)state;
    uint32_t n_first[3] = {0};
    looks_add_range(0, 0, 20000);
    looks_add_range(1, 3, 4);
    looks_add_range(2, 0, 1000);
    looks_add_range(2, 2000, 70000);
    looks_begin(3, BUDGET);
    for (int n = 0; n < 200; n++) {
        uint32_t n_pages[3] = {0};
        looks_run_burst(n % 7 == 0 ? looks_all : n % 3 == 0 ? looks_none : looks_some, VISIT_S, BUDGET);
        n_found = 0;
        for (unsigned i = 0; i < burst.n; i++)
            n_pages[burst.probe[i].process]++;
        if (n == 0)
            memcpy(n_first, n_pages, sizeof(n_first));
        assert_memory_equal(n_pages, n_first, sizeof(n_first));
    }
    assert_true(probing.rounds > 2);
    assert_true(n_first[0] > 32 && n_first[1] == 1 && n_first[2] > 3 * n_first[0]);
}

/* A client with a small budget would wait for many phases after a large burst. */
static void a_burst_has_the_pages_that_a_phase_pays_for(void **state)
{
    (void)state;
    static const struct {
        uint32_t budget;
        unsigned least, most;
    } rows[] = {{100, 16, 32}, {1000, 49, 50}, {3000, 149, 150}, {HM_DAMON_MAX_BUDGET, 239, 240}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        looks_set_up(NULL);
        looks_add_range(0, 0, 64 * GIB_PAGES);
        looks_begin(1, rows[i].budget);
        hm_damon_probing_choose(&probing, &burst);
        assert_in_range(burst.n, rows[i].least, rows[i].most);
    }
}

/* Where processes come and go, rounds begin anew before they end. */
static void rounds_that_do_not_end_come_to_all_blocks(void **state)
{
    (void)state;
    bool is_seen[HM_DAMON_MOST_BLOCKS] = {false};
    uint32_t n_seen = 0;
    looks_add_range(0, 0, GIB_PAGES);
    for (int watch = 0; watch < 200; watch++) {
        looks_begin(1, BUDGET);
        hm_damon_probing_choose(&probing, &burst);
        for (unsigned i = 0; i < burst.n; i++) {
            n_seen += !is_seen[burst.probe[i].block];
            is_seen[burst.probe[i].block] = true;
        }
    }
    assert_int_equal(n_seen, probing.n_blocks);
}

static void the_number_of_blocks_follows_the_budget(void **state)
{
    (void)state;
    static const uint32_t budgets[] = {100, 1000, 5000, 20000, 100000, HM_DAMON_MAX_BUDGET};
    uint32_t before = 0;
    for (size_t i = 0; i < N_ROWS(budgets); i++) {
        looks_set_up(NULL);
        looks_add_range(0, 3, 64 * GIB_PAGES);
        looks_begin(1, budgets[i]);
        double paid = 6 * INTERVAL_MS * 1e-3 * budgets[i] * 1e-6 / VISIT_S; /* a round takes six phases */
        assert_in_range(probing.n_blocks, before, HM_DAMON_MOST_BLOCKS);
        assert_true(probing.n_blocks <= paid);
        assert_true(probing.n_blocks > HM_DAMON_MOST_BLOCKS / 3 || probing.n_blocks > paid / 3);
        before = probing.n_blocks;
    }
    assert_true(before > HM_DAMON_MOST_BLOCKS / 3);
}

static void a_costly_look_makes_blocks_larger(void **state)
{
    (void)state;
    looks_add_range(0, 0, GIB_PAGES);
    looks_begin(1, BUDGET);
    uint32_t before = probing.n_blocks;
    looks_run_round(looks_some); /* costs as much as was thought */
    assert_int_equal(probing.n_blocks, before);
    for (; probing.rounds < 8; n_found = 0)
        looks_run_burst(looks_some, VISIT_S * 16, BUDGET);
    assert_true(probing.n_blocks <= before / 8);
    looks_run_round(looks_some);
    looks_check_round(1);
}

static void a_process_that_has_ended_is_left_out(void **state)
{
    (void)state;
    looks_add_range(0, 0, 1000);
    looks_add_range(1, 0, 1000);
    looks_begin(2, BUDGET);
    looks_run_burst(looks_all, VISIT_S, BUDGET);
    hm_damon_probing_leave_out(&probing, 0);
    for (int round = 0; round < 3; round++) {
        looks_run_round(looks_some);
        for (unsigned i = 0; i < n_found; i++)
            assert_int_equal(found[i].process, 1);
        assert_int_equal(n_found, probing.n_blocks / 2);
        assert_int_equal(looks_pages_found_in(1, &process[1].range[0]), 1000);
    }
    hm_damon_probing_leave_out(&probing, 1);
    hm_damon_probing_choose(&probing, &burst);
    assert_int_equal(burst.n, 0);
}

/* The first process is busy, the second not. */
static uint32_t busy_below(uint64_t page, uint32_t look_us)
{
    return page < 1000 ? looks_all(page, look_us) : looks_some(page, look_us);
}

#define FIRST_LEVEL 6

static void a_process_that_has_ended_has_no_share_of_the_levels(void **state)
{
    (void)state;
    looks_add_range(0, 0, 1000);
    looks_add_range(1, 2000, 3000);
    looks_begin(2, BUDGET);
    looks_run_round(busy_below);
    assert_float_equal(hm_damon_probing_share_of(&probing, FIRST_LEVEL), 0.5, 0.01);
    hm_damon_probing_leave_out(&probing, 0);
    assert_float_equal(hm_damon_probing_share_of(&probing, FIRST_LEVEL), 1, 0);
    hm_damon_probing_leave_out(&probing, 1);
    assert_float_equal(hm_damon_probing_share_of(&probing, FIRST_LEVEL), 0, 0);
}

static void blocks_without_a_result_do_not_hold_up_the_round(void **state)
{
    (void)state;
    const struct hm_damon_needs needs = {.interval_ms = INTERVAL_MS, .budget = BUDGET};
    looks_add_range(0, 0, 1000);
    looks_begin(1, BUDGET);
    hm_damon_probing_choose(&probing, &burst);
    for (unsigned i = 0; i < burst.n; i++)
        hm_damon_probing_skip(&probing, &burst, i);
    now_ns += 5;
    assert_int_equal(probing.rounds, 0);
    hm_damon_probing_end(&probing, &burst, burst.n * VISIT_S, &needs, now_ns);
    assert_int_equal(probing.rounds, 1);
    assert_true(probing.span_ns == 5); /* the time that the round took, and its looks stand for */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_round_looks_once_at_every_part_of_all_ranges, looks_set_up),
        cmocka_unit_test_setup(the_most_processes_with_the_most_ranges_are_looked_at, looks_set_up),
        cmocka_unit_test_setup(each_burst_has_as_many_pages_of_each_process, looks_set_up),
        cmocka_unit_test_setup(a_burst_has_the_pages_that_a_phase_pays_for, looks_set_up),
        cmocka_unit_test_setup(rounds_that_do_not_end_come_to_all_blocks, looks_set_up),
        cmocka_unit_test_setup(the_number_of_blocks_follows_the_budget, looks_set_up),
        cmocka_unit_test_setup(a_costly_look_makes_blocks_larger, looks_set_up),
        cmocka_unit_test_setup(a_process_that_has_ended_is_left_out, looks_set_up),
        cmocka_unit_test_setup(a_process_that_has_ended_has_no_share_of_the_levels, looks_set_up),
        cmocka_unit_test_setup(blocks_without_a_result_do_not_hold_up_the_round, looks_set_up),
    };
    return RUN_WITH_BOTH_SIZES(tests);
}
