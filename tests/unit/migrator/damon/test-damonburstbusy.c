/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how bursts of the DAMON broker hold up its other clients, and what it does where DAMON's files are busy. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "burstfixture.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static void refuse_on(void)
{
    kernel.refuses_on = true;
}

static void cut_off(void)
{
    kernel.ends_at_start = burst_child;
    burst_child = 0;
}

static void run_to_the_end(void)
{
    kernel.now_ns = lease.bursts.next_ns;
    lease_work_after(0);
    burst_end(3);
}

#define ON_NS (300 * MS_NS)
#define OFF_NS (200 * MS_NS)

/* While a kdamond is turned on or off, the broker serves nobody. */
static void the_bursts_of_a_user_hold_others_up_for_a_part_of_the_time(void **state)
{
    (void)state;
    static const struct {
        void (*happen)(void);
        uint64_t blocked_ns;
    } rows[] = {{run_to_the_end, ON_NS + OFF_NS}, {refuse_on, ON_NS + OFF_NS}, {cut_off, ON_NS}};
    broker.n_wanted = 4;
    burst_watch_both();
    kernel.on_ns = ON_NS;
    kernel.off_ns = OFF_NS;
    for (uint32_t n = 1; n <= 2; n++) {
        for (size_t i = 0; i < N_ROWS(rows) - (n == 1); i++) { /* the child ends once */
            kernel.refuses_on = false;
            lease.bursts.next_ns = kernel.now_ns;
            rows[i].happen();
            lease_work_after(0);
            assert_false(burst_is_on());
            assert_true(lease.bursts.next_ns == kernel.now_ns + 16 * n * rows[i].blocked_ns);
        }
        assert_true(hm_damon_pool_lend(&broker.pool, 4711, lease.peer.owner, NULL) > 0); /* another of the user's */
    }
    hm_damon_pool_take_back(&broker.pool, 4711);
    kernel.refuses_on = false;
}

#define TRIES 201              /* where a file is busy */
#define PAUSE_S (UINT64_C(16)) /* after a second in which the broker has tried in vain */

static void a_kdamond_that_stays_on_is_counted_and_turned_off_later(void **state)
{
    (void)state;
    burst_watch_one();
    lease_work_after(0);
    kernel.refuses_off = true;
    kernel.off_ns = SECOND_NS / TRIES;
    burst_end(1);
    burst_assert_silent();
    uint64_t paused_ns = kernel.now_ns;
    lease_work_after(PAUSE_S * SECOND_NS - MS_NS);
    assert_true(kernel.now_ns - paused_ns < PAUSE_S * SECOND_NS); /* no try has taken time */
    assert_in_range(hm_damon_lease_wait_ms(&lease), 1, 2);
    kernel_use_cpu(0, SECOND_NS);
    kernel.refuses_off = false;
    kernel.off_ns = 0;
    lease_work_after(MS_NS);
    assert_false(burst_is_on());
    burst_assert_list(0);
    assert_true(hm_damon_lease_cpu_ns(&lease) == SECOND_NS);
    assert_true(lease.bursts.next_ns >= kernel.now_ns + PAUSE_S * SECOND_NS);
}

static void a_kdamond_that_stays_on_is_turned_off_after_the_watch(void **state)
{
    (void)state;
    burst_watch_one();
    lease_work_after(0);
    kernel.refuses_off = true;
    assert_int_equal(lease_ask().number, EBUSY);
    kernel_use_cpu(0, SECOND_NS);
    lease_work_after(60 * SECOND_NS + 1);
    assert_true(burst_is_on() && hm_damon_pool_lent(&broker.pool) == 1);
    kernel.refuses_off = false;
    lease_work_after(0);
    assert_false(burst_is_on());
    assert_string_equal(kernel_text("0/contexts/0/targets/nr_targets"), "0");
    assert_true(hm_damon_lease_cpu_ns(&lease) == SECOND_NS);
    assert_int_equal(hm_damon_pool_lent(&broker.pool), 0);
}

/* The kernel gave no event for the thread, and then the kdamond stayed on. */
static void a_kdamond_that_stays_on_without_a_burst_is_turned_off_later(void **state)
{
    (void)state;
    burst_watch_one();
    lease_work_after(0);
    burst_end(1);
    kernel.refuses_perf = kernel.refuses_off = true;
    lease_work_after(0);
    assert_true(burst_is_on());
    kernel.refuses_off = false;
    lease_work_after(0);
    assert_false(burst_is_on());
}

/* ESRCH would mean that its processes have ended. */
static void a_kdamond_whose_thread_is_not_told_is_busy(void **state)
{
    (void)state;
    assert_int_equal(lease_ask().number, 0);
    kernel.is_busy_from_on = true;
    assert_int_equal(hm_damon_turn_on(0, &broker.owned, NULL), -1);
    assert_int_equal(errno, EBUSY);
    kernel.is_busy = false;
}

/* It may even have been on when it was lent. */
static void a_kdamond_that_is_on_begins_anew(void **state)
{
    (void)state;
    assert_int_equal(lease_ask().number, 0);
    kernel_put(DAMON_FILES "0/state", "on");
    burst_watch_one();
    kernel_put(DAMON_FILES "0/state", "on");
    lease_work_after(0);
    burst_end(1);
    burst_assert_list(0);
}

/* Between two bursts all kdamonds are off, and the kernel lets anybody make new ones in their place. */
static void kdamonds_that_others_make_between_bursts_are_left_alone(void **state)
{
    (void)state;
    static const struct {
        const char *file, *text;
    } theirs[] = {{"0/contexts/nr_contexts", "1"},
                  {"0/contexts/0/operations", "paddr"},
                  {"0/contexts/0/targets/nr_targets", "1"},
                  {"0/contexts/0/monitoring_attrs/intervals/update_us", "60000000"},
                  {"0/state", "on"},
                  {"0/pid", "77"}};
    char path[128];
    burst_watch_one();
    lease_work_after(0);
    burst_end(1);
    lease_hear_all();
    kernel_set_number("1");
    for (size_t i = 0; i < N_ROWS(theirs); i++) {
        snprintf(path, sizeof(path), DAMON_FILES "%s", theirs[i].file);
        kernel_put(path, theirs[i].text);
    }
    kernel.now_ns = lease.bursts.next_ns;
    assert_true(lease_work_after(0));
    assert_int_equal(lease_hear()->answer.number, EBUSY);
    for (size_t i = 0; i < N_ROWS(theirs); i++)
        assert_string_equal(kernel_text(theirs[i].file), theirs[i].text);
    assert_true(broker.owned.n == 0 && access(broker.state_path, F_OK) != 0);
    assert_int_equal(lease_ask().number, EBUSY);
    kernel_set_number("0"); /* they have ended, and so there are ours again */
    burst_watch_one();
    kernel.now_ns = lease.bursts.next_ns;
    lease_work_after(0);
    burst_end(1);
    burst_assert_list(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_bursts_of_a_user_hold_others_up_for_a_part_of_the_time, burst_set_up,
                                        burst_tear_down),
        cmocka_unit_test_setup_teardown(a_kdamond_that_stays_on_is_counted_and_turned_off_later, burst_set_up,
                                        burst_tear_down),
        cmocka_unit_test_setup_teardown(a_kdamond_that_stays_on_is_turned_off_after_the_watch, burst_set_up,
                                        burst_tear_down),
        cmocka_unit_test_setup_teardown(a_kdamond_that_stays_on_without_a_burst_is_turned_off_later, burst_set_up,
                                        burst_tear_down),
        cmocka_unit_test_setup_teardown(a_kdamond_whose_thread_is_not_told_is_busy, burst_set_up, burst_tear_down),
        cmocka_unit_test_setup_teardown(a_kdamond_that_is_on_begins_anew, burst_set_up, burst_tear_down),
        cmocka_unit_test_setup_teardown(kdamonds_that_others_make_between_bursts_are_left_alone, burst_set_up,
                                        burst_tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
