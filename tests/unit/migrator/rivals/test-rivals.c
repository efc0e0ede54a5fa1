/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the rules of the policies of other systems, and what they share. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "migrator/rivals/arms.h"
#include "stage.h"
#include "unit/lib/rows.h"

static void test_no_job_can_have_them(void **state)
{
    const char *name, *about;
    int n = 0;
    (void)state;
    for (; hm_rival_at(n); n++)
        for (int i = 0; hm_algorithm_at(i, &name, &about); i++)
            assert_string_not_equal(hm_rival_at(n)->name, name);
    assert_int_equal(n, 4);
    assert_null(hm_rival_at(-1));
}

/* 8 reads or 4 writes make a page hot. Those that are hot by writes are promoted first. */
static void test_hemem_thresholds(void **state)
{
    struct stage stage;
    (void)state;
    stage_begin(&stage, &hm_rival_hemem, 2, 2, 192);
    stage_see(&stage, 10, 7, 3);
    stage_see(&stage, 20, 8, 0);
    stage_see(&stage, 30, 0, 4);
    stage.budget.move_pages = 3;
    stage_decide(&stage);
    assert_int_equal(stage_verdict(&stage, 20), HM_VERDICT_BUDGET);
    assert_true(stage.is_fast[30] && !stage.is_fast[0] && stage.is_fast[1]);
    stage.budget.move_pages = UINT64_MAX;
    stage.budget.capacity_pages[0] = 3;
    stage_decide(&stage);
    assert_true(stage.is_fast[20]);
    assert_int_equal(stage_verdict(&stage, 10), HM_VERDICT_NEW);
    stage.budget.capacity_pages[0] = 2;
    stage_see(&stage, 10, 1, 0);
    stage_decide(&stage); /* 8 reads, too; but there is nothing cold in the fast tier */
    assert_int_equal(stage_verdict(&stage, 10), HM_VERDICT_ROOM);
    assert_true(stage.is_fast[20] && stage.is_fast[30]);
    stage_end(&stage);
}

/* Above 18 samples of one page, the counts of all pages are halved. */
static void test_hemem_cools(void **state)
{
    struct stage stage;
    (void)state;
    stage_begin(&stage, &hm_rival_hemem, 2, 2, 192);
    stage.budget.move_pages = 0;
    stage_see(&stage, 0, 18, 0);
    stage_see(&stage, 10, 9, 0);
    stage_decide(&stage);
    assert_int_equal(stage_verdict(&stage, 10), HM_VERDICT_BUDGET);
    stage.budget.move_pages = UINT64_MAX;
    stage_see(&stage, 0, 1, 0); /* 19 and 9 become 9 and 4 */
    stage_decide(&stage);
    assert_int_equal(stage_verdict(&stage, 10), HM_VERDICT_NEW);
    stage_see(&stage, 20, 38, 0); /* 38, 9 and 4 become 9, 2 and 1 */
    stage_see(&stage, 21, 38, 0);
    stage_decide(&stage);
    assert_true(stage.is_fast[20] && stage.is_fast[21] && !stage.is_fast[0]);
    stage_end(&stage);
}

/* The hot threshold is the lowest bin of which all pages fit. What is one bin below stays, if it leaves room. */
static void test_memtis_histogram(void **state)
{
    struct stage stage;
    (void)state;
    stage_begin(&stage, &hm_rival_memtis, 3, 3, 192);
    stage_see(&stage, 0, 5, 0); /* warm: a bin below the threshold */
    stage_see(&stage, 1, 1, 0); /* cold */
    stage_see(&stage, 10, 8, 3);
    stage_see(&stage, 11, 0, 15);
    for (unsigned page = 20; page < 24; page++)
        stage_see(&stage, page, 4, 0);
    stage_decide(&stage); /* two pages with 8 to 15 samples fit, five with 4 to 7 do not */
    assert_true(stage.is_fast[10] && stage.is_fast[11] && stage.is_fast[0]);
    assert_false(stage.is_fast[1] || stage.is_fast[2]);
    assert_int_equal(stage_verdict(&stage, 20), HM_VERDICT_PLACED);
    stage_see(&stage, 20, 4, 0); /* with 8, it is hot as well: now the warm one makes room */
    stage_decide(&stage);
    assert_true(stage.is_fast[20] && !stage.is_fast[0]);
    stage_end(&stage);
}

/* Bin 15 has all pages of 64 samples and more. At each 20th phase, counts are halved. */
static void test_memtis_cools(void **state)
{
    struct stage stage;
    (void)state;
    stage_begin(&stage, &hm_rival_memtis, 1, 1, 192);
    stage_see(&stage, 0, 64, 0);
    stage_see(&stage, 10, 1000, 0);
    for (int phase = 1; phase < 20; phase++) {
        stage_decide(&stage);
        assert_int_equal(stage_verdict(&stage, 10), HM_VERDICT_ROOM);
    }
    stage_decide(&stage);
    assert_true(stage.is_fast[10] && !stage.is_fast[0]);
    stage_end(&stage);
}

/* A page has to be among the hottest twice, without a falling score; and the gain has to exceed the cost. */
static void test_arms_gate(void **state)
{
    struct stage stage;
    (void)state;
    for (int dear = 0; dear <= 1; dear++) {
        stage_begin(&stage, &hm_rival_arms, 1, 1, dear ? 40 : 20);
        stage_see(&stage, 0, 10, 0);
        stage_see(&stage, 10, 100, 0);
        stage_decide(&stage);
        assert_int_equal(stage_verdict(&stage, 10), HM_VERDICT_NEW);
        stage_see(&stage, 0, 10, 0);
        stage_see(&stage, 10, 100, 0);
        stage_decide(&stage); /* gain: 2 phases of 90 * (0.4 * 8/9 + 0.6 * 0.181) reads; cost: 1.5 * 2 moves */
        assert_int_equal(stage_verdict(&stage, 10), dear ? HM_VERDICT_COST : HM_VERDICT_PROMOTE);
        assert_int_equal(stage.is_fast[10], !dear);
        stage_end(&stage);
    }
}

/* What is sampled once only is not promoted, however hot it was. */
static void test_arms_wants_it_twice(void **state)
{
    struct stage stage;
    (void)state;
    stage_begin(&stage, &hm_rival_arms, 1, 0, 20);
    stage_see(&stage, 10, 10000, 0);
    for (int phase = 0; phase < 5; phase++) {
        stage_decide(&stage);
        assert_int_equal(stage_verdict(&stage, 10), HM_VERDICT_NEW);
    }
    stage_end(&stage);
}

/* A batch has no more moves than the accesses of a phase cost, by the latencies that the tiers have in it. */
static void test_arms_batch(void **state)
{
    static const struct {
        double slow_latency, cost;
        unsigned moves;
    } rows[] = {{2, 20, 16 * 10 * 2 / (20 + 20)}, {100, 600, 16 * 10 * 100 / (600 + 600)}};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct stage stage;
        stage_begin(&stage, &hm_rival_arms, 32, 0, rows[i].cost);
        stage.budget.slow_latency = rows[i].slow_latency;
        for (int phase = 0; phase < 5 && stage.promoted == 0; phase++) {
            for (unsigned page = 0; page < 16; page++)
                stage_see(&stage, page, 10, 0);
            stage_decide(&stage);
        }
        assert_int_equal(stage.promoted, rows[i].moves);
        stage_end(&stage);
    }
}

static void test_arms_sees_a_change(void **state)
{
    struct hm_rival_change change = {0};
    (void)state;
    for (int phase = 0; phase < 50; phase++) {
        hm_rival_change_see(&change, phase % 2 ? 105 : 95);
        assert_false(change.is_recent);
    }
    for (int phase = 0; phase < 10 && !change.is_recent; phase++)
        hm_rival_change_see(&change, 300);
    assert_true(change.is_recent);
    for (int phase = 0; phase < 60; phase++)
        hm_rival_change_see(&change, phase % 2 ? 305 : 295);
    assert_false(change.is_recent);
}

/* What moves is half of the share of accesses that the slow tier serves: the hottest that fit into it. */
static void test_colloid_goes_half_of_the_way(void **state)
{
    struct stage stage;
    (void)state;
    stage_begin(&stage, &hm_rival_colloid, 16, 0, 192);
    for (unsigned page = 0; page < 8; page++)
        stage_see(&stage, 10 + page, 64, 0);
    stage_decide(&stage);
    assert_int_equal(stage.promoted, 4);
    for (unsigned page = 0; page < 8; page++)
        stage_see(&stage, 10 + page, 64, 0);
    stage_decide(&stage);
    assert_int_equal(stage.promoted, 2);
    stage_end(&stage);
}

/* Equal latencies move nothing. If the fast tier is the slower one under load, its hottest pages leave it. */
static void test_colloid_balances(void **state)
{
    struct stage stage;
    (void)state;
    stage_begin(&stage, &hm_rival_colloid, 16, 8, 192);
    for (int phase = 0; phase < 2; phase++) {
        for (unsigned page = 0; page < 12; page++)
            stage_see(&stage, page, 64, 0);
        stage.budget.fast_latency = phase == 0 ? 2.05 : 3;
        stage_decide(&stage);
        assert_int_equal(stage.promoted, 0);
        assert_int_equal(stage.demoted, phase == 0 ? 0 : 4); /* of two thirds of the accesses, half move away */
    }
    stage_end(&stage);
}

/* What lies above the cap is demoted, what was never sampled first; what is forgotten is as if it never was sampled. */
static void test_the_cap_and_forgetting(void **state)
{
    (void)state;
    for (int i = 0; hm_rival_at(i); i++) {
        struct stage stage;
        stage_begin(&stage, hm_rival_at(i), 4, 8, 192);
        stage_see(&stage, 2, 9, 0);
        stage_see(&stage, 6, 9, 0);
        stage_decide(&stage);
        assert_int_equal(stage.demoted, 4);
        assert_true(stage.is_fast[2] && stage.is_fast[6]);
        hm_decider_forget(stage.decider, &(struct hm_gone){STAGE_FIRST + 2, 1}, 1);
        stage.budget.capacity_pages[0] = 1;
        stage_decide(&stage);
        assert_true(stage.is_fast[6] && !stage.is_fast[2]);
        stage_end(&stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_job_can_have_them), cmocka_unit_test(test_hemem_thresholds),
        cmocka_unit_test(test_hemem_cools),          cmocka_unit_test(test_memtis_histogram),
        cmocka_unit_test(test_memtis_cools),         cmocka_unit_test(test_arms_gate),
        cmocka_unit_test(test_arms_wants_it_twice),  cmocka_unit_test(test_arms_batch),
        cmocka_unit_test(test_arms_sees_a_change),   cmocka_unit_test(test_colloid_goes_half_of_the_way),
        cmocka_unit_test(test_colloid_balances),     cmocka_unit_test(test_the_cap_and_forgetting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
