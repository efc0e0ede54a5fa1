/* SPDX-License-Identifier: Apache-2.0 */
/* Tests when the DAMON broker looks in bursts in place of all the time, and when all the time again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "steadyfixture.h"
#include "unit/lib/rows.h"

/* Between two looks there are `look_us`. */
static void assert_looks(const char *look_us)
{
    assert_string_equal(kernel_text("0/contexts/0/monitoring_attrs/intervals/sample_us"), look_us);
}

static void looks_that_find_nearly_all_in_use_become_bursts(void **state)
{
    (void)state;
    steady_watch(2);
    steady_look(HM_DAMON_LOOKS * 7 / 10);
    assert_false(lease.is_bursting);
    lease_work_after(5 * SECOND_NS);
    steady_look(HM_DAMON_LOOKS * 8 / 10);
    assert_true(lease.is_bursting);
    assert_false(steady_is_on(0));
    assert_string_equal(kernel_text("0/contexts/0/targets/nr_targets"), "0");
    lease_work_after(0);
    assert_true(steady_is_on(0));
    assert_looks("16000");
    assert_int_equal(kernel.starts, 2);
}

/* Bursts would be calm at once. */
static void looks_at_memory_that_is_mostly_idle_go_on(void **state)
{
    (void)state;
    steady_watch(2);
    kernel.idle_pages = 1; /* beside one that is in use */
    steady_look(HM_DAMON_LOOKS);
    assert_false(lease.is_bursting);
    kernel.idle_pages = 0;
    lease_work_after(5 * SECOND_NS);
    steady_look(HM_DAMON_LOOKS);
    assert_true(lease.is_bursting);
}

/* Where the budget allows for shorter times between two looks, these are tried first. */
static void shorter_times_come_before_bursts(void **state)
{
    (void)state;
    steady_watch(1);
    kernel_use_cpu(0, SECOND_NS / 10000); /* a hundredth of the budget */
    lease.steady.settings.look_us = 100000;
    steady_look(HM_DAMON_LOOKS);
    assert_false(lease.is_bursting);
    assert_in_range(lease.steady.settings.look_us, 5000, 99999);
}

/* Runs a burst, whose looks find this many uses at each page. */
static void run_burst(uint32_t accesses)
{
    kernel.now_ns += SECOND_NS;
    lease_work_after(0);
    if (!lease.is_bursting)
        return;
    assert_true(steady_is_on(0));
    kernel.lists = (UINT32_C(1) << lease.n) - 1;
    kernel.accesses = accesses;
    kernel.told_ns = kernel.now_ns + (uint64_t)lease.bursts.pages.look_us * HM_DAMON_VISIT_LOOKS * 1000;
    lease_work_after(kernel.told_ns - kernel.now_ns);
    kernel.lists = 0;
    lease_hear_all();
}

/* A program that was busy, and then is not. */
static void calm_bursts_become_looks_all_the_time(void **state)
{
    (void)state;
    steady_watch(2);
    lease_begin_bursts();
    for (int i = 0; i < 5; i++)
        run_burst(HM_DAMON_VISIT_LOOKS / 2);
    assert_true(lease.is_bursting);
    run_burst(0); /* the next looks are four times as far apart */
    run_burst(0);
    assert_false(lease.is_bursting);
    assert_true(steady_is_on(0));
    assert_string_equal(kernel_text("0/contexts/0/targets/nr_targets"), "2");
    steady_look(HM_DAMON_LOOKS); /* and back again */
    assert_true(lease.is_bursting);
}

/* Looks all the time would be blind again. */
static void a_time_with_which_looks_were_blind_is_not_calm(void **state)
{
    (void)state;
    steady_watch(2);
    lease_begin_bursts();
    lease.steady.settings.look_us = 200000;
    run_burst(0); /* the next looks are four times as far apart */
    for (int i = 0; i < 5; i++)
        run_burst(1);
    assert_looks("64000");
    assert_true(lease.is_bursting);
    for (int i = 0; i < 2; i++)
        run_burst(0);
    assert_false(lease.is_bursting);
}

static void a_round_alone_is_not_calm(void **state)
{
    (void)state;
    steady_watch(2);
    lease_begin_bursts();
    run_burst(0);
    for (int i = 0; i < 5; i++)
        run_burst(HM_DAMON_VISIT_LOOKS);
    assert_true(lease.is_bursting);
}

/* What was learned of some processes holds where a few come or end, not for many others. */
static void other_processes_are_looked_at_all_the_time_first(void **state)
{
    (void)state;
    static const struct {
        uint32_t before, after;
        bool is_bursting;
    } rows[] = {{2, 2, true}, {2, 4, true}, {2, 5, false}, {5, 3, true}, {5, 2, false}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        steady_watch(rows[i].before);
        if (!lease.is_bursting)
            lease_begin_bursts();
        steady_watch(rows[i].after);
        assert_int_equal(lease.is_bursting, rows[i].is_bursting);
        assert_int_equal(steady_is_on(0), !rows[i].is_bursting); /* the next burst begins a moment later */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(looks_that_find_nearly_all_in_use_become_bursts, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(looks_at_memory_that_is_mostly_idle_go_on, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(shorter_times_come_before_bursts, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(calm_bursts_become_looks_all_the_time, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(a_time_with_which_looks_were_blind_is_not_calm, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(a_round_alone_is_not_calm, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(other_processes_are_looked_at_all_the_time_first, lease_set_up,
                                        lease_tear_down),
    };
    return cmocka_run_group_tests(tests, steady_fork_all, steady_end_all);
}
