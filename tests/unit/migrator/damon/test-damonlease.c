/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how the DAMON broker lends a kdamond to a client, and takes it back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "leasefixture.h"
#include "unit/lib/scratch.h"

static void assert_refused(const char *why)
{
    struct hm_damon_answer reply = lease_ask();
    assert_int_equal(reply.number, EBUSY);
    assert_non_null(strstr(reply.text, why));
    assert_int_equal(broker.owned.n, 0);
}

static void assert_lent(unsigned n)
{
    struct hm_damon_answer reply = lease_ask();
    if (reply.number != 0)
        fail_msg("refused: %s", reply.text);
    assert_int_equal(broker.owned.n, n);
    assert_int_equal(lease.kdamond, 0);
}

static void kdamonds_are_made_for_the_first_who_asks(void **state)
{
    (void)state;
    assert_int_equal(broker.owned.n, 0);
    assert_lent(2);
    uint32_t mark = broker.owned.mark;
    assert_lent(2);
    assert_int_equal(broker.owned.mark, mark); /* the set-up happens once */
}

static void others_are_looked_for_at_each_request(void **state)
{
    (void)state;
    kernel_set_number("3");
    assert_refused("3 kdamonds that are not hybridmem's");
    assert_refused("3 kdamonds that are not hybridmem's");
    kernel_set_number("0");
    assert_lent(2);
}

static void a_module_that_holds_damon_is_looked_for_at_each_request(void **state)
{
    (void)state;
    kernel_put("/sys/module/damon_stat/parameters/enabled", "Y");
    assert_refused("the kernel's own damon_stat holds DAMON");
    kernel_put("/sys/module/damon_stat/parameters/enabled", "N");
    assert_lent(2);
}

static void a_busy_kernel_is_asked_again(void **state)
{
    (void)state;
    kernel.is_busy = true;
    assert_refused("somebody keeps them busy");
    kernel.is_busy = false;
    assert_lent(2);
}

/* When the broker began, the kernel was too busy to tell whose the kdamonds were. */
static void what_a_dead_broker_left_is_taken_over_later(void **state)
{
    (void)state;
    broker.n_wanted = 5;
    assert_lent(5);
    uint32_t mark = broker.owned.mark;
    kernel.is_busy = true;
    lease_begin_broker();
    assert_int_equal(hm_damon_take_over(broker.state_path, &broker.owned, NULL), -1);
    assert_refused("somebody keeps them busy");
    kernel.is_busy = false;
    assert_lent(5);
    assert_int_equal(broker.owned.mark, mark);
}

/* Bursts of several clients would else begin together each time. */
static void each_lease_has_its_own_random_numbers(void **state)
{
    (void)state;
    static struct hm_damon_lease other[2];
    const struct hm_damon_peer peer = {.pidfd = -1};
    hm_damon_lease_open(&other[0], 2, -1, &peer);
    kernel.now_ns++;
    hm_damon_lease_open(&other[1], 1, -1, &peer);
    uint64_t first = hm_random_next(&lease.bursts.probing.random);
    assert_true(hm_random_next(&other[0].bursts.probing.random) != first);
    assert_true(hm_random_next(&other[1].bursts.probing.random) != first);
}

static void a_kdamond_without_processes_is_not_kept_for_long(void **state)
{
    (void)state;
    kernel.now_ns = SECOND_NS;
    assert_lent(2);
    kernel.now_ns += 60 * SECOND_NS;
    hm_damon_lease_work(&broker, &lease);
    assert_int_equal(hm_damon_pool_lent(&broker.pool), 1);
    kernel.now_ns++;
    hm_damon_lease_work(&broker, &lease);
    assert_int_equal(hm_damon_pool_lent(&broker.pool), 0);
    assert_lent(2); /* the next message gets one again */
    assert_int_equal(hm_damon_pool_lent(&broker.pool), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kdamonds_are_made_for_the_first_who_asks, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(others_are_looked_for_at_each_request, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(a_module_that_holds_damon_is_looked_for_at_each_request, lease_set_up,
                                        lease_tear_down),
        cmocka_unit_test_setup_teardown(a_busy_kernel_is_asked_again, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(what_a_dead_broker_left_is_taken_over_later, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(each_lease_has_its_own_random_numbers, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(a_kdamond_without_processes_is_not_kept_for_long, lease_set_up,
                                        lease_tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
