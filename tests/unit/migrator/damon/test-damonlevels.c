/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the time between two looks at a page, and what visits of a block with that time tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/random.h"
#include "looksfixture.h"
#include "unit/lib/rows.h"

#define FIRST_US 16000
#define SHORTEST_US 15
#define LONGEST_US 256000
#define SHARED_US 8000

#define HOT 32000 /* the first page that is always in use: each page in a block is, or none */
#define HOT_USES 4

/* From page HOT on, looks that are further apart than 2 ms always find a use. */
static uint32_t as_hot(uint64_t page, uint32_t look_us)
{
    return page < HOT ? HM_DAMON_VISIT_LOOKS / 2 : look_us < 2000 ? HOT_USES : HM_DAMON_VISIT_LOOKS;
}

/* A visit that finds a use at each look does not tell how often there is one. */
static void what_is_always_in_use_is_looked_at_again_at_once(void **state)
{
    (void)state;
    unsigned n_visits[2] = {0};
    looks_add_range(0, 0, 2 * HOT);
    looks_begin(1, BUDGET);
    for (int round = 0; round < 2; round++) {
        n_found = 0;
        for (uint32_t before = probing.rounds; probing.rounds == before; n_visits[round] += burst.n)
            looks_run_burst(as_hot, VISIT_S, BUDGET);
        looks_check_round(1);
        for (unsigned i = 0; i < n_found; i++) {
            bool is_hot = found[i].page >= HOT;
            assert_int_equal(found[i].region.accesses, is_hot ? HOT_USES : HM_DAMON_VISIT_LOOKS / 2);
            assert_true(!is_hot || found[i].region.look_us < 2000);
        }
    }
    /* What was learned about a block holds in the next round: one visit is mostly enough. */
    assert_true(n_visits[0] > probing.n_blocks * 4 / 3 && n_visits[1] < probing.n_blocks * 5 / 4);
}

static void the_shortest_time_is_the_end(void **state)
{
    (void)state;
    static const struct {
        double share; /* of time that the process runs */
        uint32_t look_us;
    } rows[] = {{1, SHORTEST_US}, {0.9, SHORTEST_US}, {0.85, SHARED_US}, {0.1, SHARED_US}, {0, SHARED_US}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        looks_set_up(NULL);
        looks_add_range(0, 0, 1000);
        looks_begin(1, BUDGET);
        hm_damon_probing_set_share(&probing, 0, rows[i].share);
        assert_int_equal(looks_run_round(looks_all), rows[i].look_us);
        looks_check_round(1);
        assert_int_equal(found[0].region.accesses, HM_DAMON_VISIT_LOOKS);
        assert_int_equal(found[0].region.look_us, rows[i].look_us);
    }
}

/* A process that waits for its CPU looks idle meanwhile; one that runs alone is looked at at the same time. */
static void no_process_is_looked_at_while_it_waits_for_its_cpu(void **state)
{
    (void)state;
    looks_add_range(0, 0, 30000);
    looks_add_range(1, 0, 30000);
    looks_begin(2, BUDGET);
    hm_damon_probing_set_share(&probing, 1, 0.5);
    for (int round = 0; round < 3; round++) {
        looks_run_round(looks_all);
        looks_check_round(2);
        for (unsigned i = 0; i < n_found; i++)
            assert_int_equal(found[i].region.look_us, found[i].process == 0 ? SHORTEST_US : SHARED_US);
    }
}

static void what_is_not_in_use_is_looked_at_for_longer_in_the_next_round(void **state)
{
    (void)state;
    looks_add_range(0, 0, 1000);
    looks_begin(1, BUDGET);
    uint32_t before = looks_run_round(looks_none);
    looks_check_round(1);
    for (int round = 0; round < HM_DAMON_LEVELS; round++) {
        uint32_t look_us = looks_run_round(looks_none);
        assert_true(look_us == LONGEST_US || look_us == before * 4);
        before = look_us;
    }
    assert_int_equal(before, LONGEST_US);
}

/* A program that waits while the shorter looks are made, after it was busy in the longer ones. */
static uint32_t then_waits(uint64_t page, uint32_t look_us)
{
    (void)page;
    return look_us >= FIRST_US ? HM_DAMON_VISIT_LOOKS : 0;
}

static void a_shorter_look_that_finds_nothing_does_not_take_back_the_longer_one(void **state)
{
    (void)state;
    looks_add_range(0, 0, 64);
    looks_begin(1, BUDGET);
    looks_run_round(then_waits);
    for (unsigned i = 0; i < n_found; i++) {
        assert_int_equal(found[i].region.accesses, HM_DAMON_VISIT_LOOKS);
        assert_int_equal(found[i].region.look_us, FIRST_US);
    }
}

static struct hm_random chance;

/* A page that is used at random moments, about as often as it is not between two looks. */
static uint32_t by_chance(uint64_t page, uint32_t look_us)
{
    uint32_t n = 0;
    (void)page, (void)look_us;
    for (int look = 0; look < HM_DAMON_VISIT_LOOKS; look++)
        n += hm_random_next(&chance) & 1;
    return n;
}

/* A program that uses one half of its blocks, and then the other half. */
static uint32_t in_turns(uint64_t page, uint32_t look_us)
{
    (void)look_us;
    return (page / probing.block_pages + probing.rounds) % 2 ? 5 : 0;
}

static void the_spread_tells_what_chance_does_not_explain(void **state)
{
    (void)state;
    static const struct {
        uses *count;
        double least, most;
    } rows[] = {{looks_some, 1, 1}, {looks_none, 1, 1}, {by_chance, 1, 1.2}, {in_turns, 6, 20}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        looks_set_up(NULL);
        looks_add_range(0, 0, 4000);
        looks_begin(1, BUDGET);
        assert_true(hm_damon_probing_spread(&probing) == 1);
        while (probing.rounds < 30)
            looks_run_round(rows[i].count);
        double spread = hm_damon_probing_spread(&probing);
        if (spread < rows[i].least || spread > rows[i].most)
            fail_msg("row %zu: %.2f", i, spread);
    }
}

/* What a burst has found of a process: so many pages, each with so many looks that found a use. */
struct some_pages {
    int n, accesses;
};

static void looks_while_a_process_waits_do_not_count(void **state)
{
    (void)state;
    static const struct {
        double share; /* of time that the process runs */
        unsigned level;
        struct some_pages found[4];
        uint32_t looks;
    } rows[] = {
        {0.5, 9, {{4, 5}, {60, 3}}, 5},                     /* four pages of 64 are in use whenever it runs */
        {0.5, 10, {{4, 5}, {60, 3}}, 5},                    /* the same with twice the time */
        {0.5, 9, {{1, 6}, {2, 5}, {61, 3}}, 5},             /* one page alone may be so by chance */
        {0.5, 9, {{2, 4}, {62, 0}}, 4},                     /* most of its memory is idle */
        {0.5, 9, {{64, 1}}, 0},                             /* it ran in three looks, or is seldom in use */
        {0.5, 9, {{7, 5}}, HM_DAMON_VISIT_LOOKS},           /* too few pages tell nothing */
        {0.5, 11, {{4, 5}, {60, 3}}, HM_DAMON_VISIT_LOOKS}, /* it runs in each of so long looks */
        {1, 9, {{4, 5}, {60, 3}}, HM_DAMON_VISIT_LOOKS},    /* it has its CPU for itself */
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_damon_seen seen[HM_DAMON_MOST_PROBES] = {
            {false, 10}}; /* nothing is known of another process's page */
        looks_set_up(NULL);
        looks_add_range(0, 0, 1000);
        looks_add_range(1, 0, 1000);
        looks_begin(2, BUDGET);
        hm_damon_probing_set_share(&probing, 1, rows[i].share);
        burst = (struct hm_damon_burst){.level = rows[i].level, .n = 1};
        for (const struct some_pages *some = rows[i].found; some->n > 0; some++)
            for (int k = 0; k < some->n; k++) {
                burst.probe[burst.n].process = 1;
                seen[burst.n++] = (struct hm_damon_seen){true, (uint32_t)some->accesses};
            }
        struct hm_damon_visit visit = {0};
        hm_damon_probing_count_looks(&probing, &burst, 1, seen, &visit);
        assert_int_equal(visit.looks, rows[i].looks);
        /* The next time it may be the same, and the round has to end: then as many looks count as it may have run in.
         */
        hm_damon_probing_count_looks(&probing, &burst, 1, seen, &visit);
        assert_int_equal(visit.looks, rows[i].looks > 0 ? rows[i].looks : 3);
    }
}

/* A process that has hardly run in a burst is looked at again. */
static void a_visit_without_looks_that_count_is_made_again(void **state)
{
    (void)state;
    struct hm_damon_region region;
    const struct hm_damon_visit nothing = {.accesses = 3, .look_us = 16000}, some = {3, 6, 16000};
    looks_add_range(0, 0, 1000);
    looks_begin(1, BUDGET);
    hm_damon_probing_choose(&probing, &burst);
    assert_false(hm_damon_probing_take(&probing, &burst, 0, &nothing, &region));
    assert_true(hm_damon_probing_take(&probing, &burst, 0, &some, &region));
    assert_false(hm_damon_probing_take(&probing, &burst, 0, &some, &region));
}

/* The time between two looks at a page has in it what DAMON takes to look at all others. */
static void the_wait_between_looks_is_shorter_by_what_looks_take(void **state)
{
    (void)state;
    looks_add_range(0, 0, 8000);
    looks_begin(1, BUDGET);
    hm_damon_probing_choose(&probing, &burst);
    assert_int_equal(burst.look_us, 16000);
    assert_int_equal(hm_damon_probing_learn_pass(&probing, &burst, 16000 + 20.0 * burst.n), 16000 + 10 * burst.n);
    hm_damon_probing_choose(&probing, &burst);
    assert_int_equal(burst.look_us, 16000 - 10 * burst.n);
    /* kernels that end an aggregation by the clock */
    assert_int_equal(hm_damon_probing_learn_pass(&probing, &burst, burst.look_us - 1), burst.look_us);
    for (int i = 0; i < 100; i++)
        hm_damon_probing_learn_pass(&probing, &burst, 1e6);
    hm_damon_probing_choose(&probing, &burst);
    assert_int_equal(burst.look_us, SHORTEST_US);
}

/* A process that runs in half of the looks uses its pages half as often as these tell; one that never waits does not.
 */
static void what_a_process_uses_while_it_runs_is_less_over_all_time(void **state)
{
    (void)state;
    static const struct {
        double share;
        unsigned n; /* pages of the process in the burst */
        uint32_t uses_of_hottest, look_us;
    } rows[] = {{0.5, 64, 3, 32000}, {0.5, 64, 6, 16000}, {1, 64, 3, 16000}, {0.5, 7, 3, 16000}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_damon_seen seen[64];
        struct hm_damon_region region;
        struct hm_damon_visit visit = {.accesses = 1, .look_us = 16000};
        looks_set_up(NULL);
        looks_add_range(0, 0, 1000);
        looks_begin(1, BUDGET);
        hm_damon_probing_set_share(&probing, 0, rows[i].share);
        burst = (struct hm_damon_burst){.level = 10, .n = rows[i].n};
        for (int k = 0; k < 64; k++)
            seen[k] = (struct hm_damon_seen){true, k < 4 ? rows[i].uses_of_hottest : 1};
        hm_damon_probing_count_looks(&probing, &burst, 0, seen, &visit);
        if (visit.looks == 0) {
            visit.look_us = 16000;
            hm_damon_probing_count_looks(&probing, &burst, 0, seen, &visit);
        }
        assert_true(hm_damon_probing_take(&probing, &burst, 5, &visit, &region));
        assert_int_equal(region.look_us, rows[i].look_us);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_always_in_use_is_looked_at_again_at_once, looks_set_up),
        cmocka_unit_test_setup(the_shortest_time_is_the_end, looks_set_up),
        cmocka_unit_test_setup(no_process_is_looked_at_while_it_waits_for_its_cpu, looks_set_up),
        cmocka_unit_test_setup(what_is_not_in_use_is_looked_at_for_longer_in_the_next_round, looks_set_up),
        cmocka_unit_test_setup(a_shorter_look_that_finds_nothing_does_not_take_back_the_longer_one, looks_set_up),
        cmocka_unit_test_setup(looks_while_a_process_waits_do_not_count, looks_set_up),
        cmocka_unit_test_setup(a_visit_without_looks_that_count_is_made_again, looks_set_up),
        cmocka_unit_test_setup(the_wait_between_looks_is_shorter_by_what_looks_take, looks_set_up),
        cmocka_unit_test_setup(what_a_process_uses_while_it_runs_is_less_over_all_time, looks_set_up),
        cmocka_unit_test_setup(the_spread_tells_what_chance_does_not_explain, looks_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
