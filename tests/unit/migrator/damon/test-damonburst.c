/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the bursts in which the DAMON broker looks at a client's processes: when they begin, and what is sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "burstfixture.h"
#include "unit/lib/pageshift.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static void the_kdamond_is_on_until_all_lists_have_come(void **state)
{
    (void)state;
    burst_watch_both();
    assert_false(burst_is_on());
    assert_int_equal(hm_damon_lease_wait_ms(&lease), 1); /* the burst is due */
    lease_work_after(0);
    assert_true(burst_is_on());
    assert_string_equal(kernel_text("0/contexts/0/monitoring_attrs/intervals/sample_us"), "16000");
    assert_string_equal(kernel_text("0/contexts/0/monitoring_attrs/intervals/aggr_us"), "96000");
    assert_string_equal(kernel_text("0/contexts/0/targets/nr_targets"), "2");
    assert_string_equal(kernel_text("0/contexts/0/targets/1/regions/1/start"), "12288");
    assert_string_equal(kernel_text("0/contexts/0/targets/1/regions/1/end"), "16384");
    assert_in_range(hm_damon_lease_wait_ms(&lease), LENGTH_NS / MS_NS, LENGTH_NS / MS_NS + 1);
    kernel.lists = 1; /* of two */
    lease_work_after(LENGTH_NS);
    assert_true(burst_is_on());
    burst_assert_silent();
    burst_end(3);
    assert_string_equal(kernel_text("0/state"), "off");
    burst_assert_list(0);
    burst_assert_list(1);
    burst_assert_silent();
}

static void a_list_says_what_its_looks_stand_for(void **state)
{
    (void)state;
    uint32_t n = 0;
    burst_watch_one();
    kernel.burst_cpu_ns = MS_NS / 2;
    for (uint32_t round = lease.rounds, last = round + 3; round < last; round++) {
        lease_work_after(0);
        burst_end(1);
        const struct hm_damon_list *list = &lease_hear()->list;
        assert_int_equal(list->rounds, round);
        assert_int_equal(list->region[0].looks, HM_DAMON_VISIT_LOOKS);
        assert_int_equal(list->way, HM_DAMON_BURSTS);
        assert_int_equal(list->region[0].look_us, LOOK_US);
        assert_true(list->cpu_ns == MS_NS / 2 * ++n);
        assert_int_equal(list->lost, 0);
        if (n > 1) /* the first round has only a guess */
            assert_int_equal(list->span_ms, LENGTH_NS / MS_NS);
        list = &lease_hear()->list; /* without regions: the round has ended */
        assert_int_equal(list->rounds, round + 1);
        assert_int_equal(list->head.n, 0);
    }
}

/* Waits until the next burst may begin. */
static void wait_for_next(void)
{
    kernel.now_ns = lease.bursts.next_ns > kernel.now_ns ? lease.bursts.next_ns : kernel.now_ns;
}

/* Runs a burst. Returns how long after its beginning the next one may begin. */
static uint64_t run_burst(void)
{
    uint64_t begun_ns = kernel.now_ns;
    unsigned starts = kernel.starts;
    lease_work_after(0);
    assert_int_equal(kernel.starts, starts + 1);
    burst_end(1);
    lease_hear_all();
    assert_false(burst_is_on());
    return lease.bursts.next_ns - begun_ns;
}

static void assert_begins_at(uint64_t ns)
{
    unsigned starts = kernel.starts;
    uint64_t left_ns = ns - kernel.now_ns;
    assert_in_range(hm_damon_lease_wait_ms(&lease), left_ns / MS_NS, left_ns / MS_NS + 1);
    lease_work_after(left_ns - 1);
    assert_int_equal(kernel.starts, starts);
    lease_work_after(1);
    assert_int_equal(kernel.starts, starts + 1);
    burst_end(1);
    lease_hear_all();
    wait_for_next();
}

#define BURSTS 30

/* The kdamond's time is known only when it is off. A single wait may be half or one and a half times as long: bursts
 * are never in step with the program. */
static void the_next_burst_waits_as_long_as_the_budget_wants(void **state)
{
    (void)state;
    burst_watch_one();
    kernel.burst_cpu_ns = 20 * MS_NS;
    uint64_t wanted_ns = 2 * SECOND_NS; /* of a 1 % budget */
    uint64_t shortest_ns = UINT64_MAX, longest_ns = 0, sum_ns = 0;
    run_burst(); /* with what is left of the time before it */
    assert_begins_at(lease.bursts.next_ns);
    for (int i = 0; i < BURSTS; i++, wait_for_next()) {
        uint64_t wait_ns = run_burst();
        shortest_ns = wait_ns < shortest_ns ? wait_ns : shortest_ns;
        longest_ns = wait_ns > longest_ns ? wait_ns : longest_ns;
        sum_ns += wait_ns;
    }
    assert_in_range(shortest_ns, wanted_ns / 2, wanted_ns * 3 / 4);
    assert_in_range(longest_ns, wanted_ns * 5 / 4, wanted_ns * 3 / 2);
    assert_in_range(sum_ns / BURSTS, wanted_ns * 8 / 10, wanted_ns * 12 / 10);
}

/* CPU time of all bursts so far. */
static double spent_s(void)
{
    return (double)hm_damon_lease_cpu_ns(&lease) / SECOND_NS;
}

/* Runs bursts until the client's process has run so long. */
static void run_until(uint64_t age_s)
{
    while (lease.peer.age_s + (kernel.now_ns - lease.since_ns) / SECOND_NS < age_s) {
        run_burst();
        wait_for_next();
    }
}

/* Has another connection of the client take the place of this one, when its process is so old. */
static void connect_again(uint64_t age_s)
{
    struct hm_damon_peer peer = lease.peer;
    peer.age_s = age_s;
    close(lease_client);
    hm_damon_lease_close(&broker, &lease);
    lease_connect(2, &peer);
    burst_watch_one();
    wait_for_next();
}

/* What is learned early is of use for longest: nearly twice the budget in two minutes, and no more than it in ten.
 * Bursts that begin later have less of an advance, or none. */
static void an_advance_on_the_budget_is_paid_back(void **state)
{
    (void)state;
    static const struct {
        uint64_t begun_s;                    /* age of the process when bursts begin */
        double at_120_s, at_600_s, at_900_s; /* CPU time of a 1 % budget */
    } rows[] = {{0, 2.16, 6, 9}, {60, 1.08, 5.4, 8.4}, {200, 0, 4, 7}, {1000, 0, 0, 0}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        burst_watch_one();
        connect_again(rows[i].begun_s);
        kernel.burst_cpu_ns = 20 * MS_NS;
        run_until(120);
        assert_float_equal(spent_s(), rows[i].at_120_s, 0.3);
        run_until(600);
        assert_float_equal(spent_s(), rows[i].at_600_s, 0.5);
        run_until(900);
        assert_float_equal(spent_s(), rows[i].at_900_s, 0.6);
    }
}

/* A client that connects again still owes what it has not paid back. */
static void a_new_connection_brings_no_new_advance(void **state)
{
    (void)state;
    burst_watch_one();
    connect_again(0);
    kernel.burst_cpu_ns = 20 * MS_NS;
    run_until(120);
    double before_s = spent_s();
    connect_again(120);
    run_until(600);
    assert_float_equal(before_s + spent_s(), 6, 0.5);
    connect_again(600);
    run_until(900);
    assert_float_equal(spent_s(), 3, 0.4);
}

/* Neither does a watch that begins anew, nor one that ends a burst before its lists have come. */
static void asking_again_brings_no_burst_earlier(void **state)
{
    (void)state;
    burst_watch_one();
    kernel.burst_cpu_ns = 20 * MS_NS;
    run_burst();
    uint64_t next_ns = lease.bursts.next_ns;
    burst_watch_one();
    assert_true(lease.bursts.next_ns == next_ns);
    assert_begins_at(next_ns);
    lease_work_after(0);
    assert_true(burst_is_on());
    next_ns = kernel.now_ns + 2 * SECOND_NS; /* of a 1 % budget */
    lease_work_after(MS_NS);
    burst_watch_one();
    assert_false(burst_is_on());
    assert_true(lease.bursts.next_ns == next_ns);
    assert_begins_at(next_ns);
}

#define SIGN_NS (20 * SECOND_NS)

/* A client that hears nothing for a minute takes another source. */
static void a_client_hears_of_the_broker_in_a_long_pause(void **state)
{
    (void)state;
    burst_watch_one();
    kernel.burst_cpu_ns = SECOND_NS; /* at 1 %, the pause is 50 s at least */
    run_burst();
    for (int i = 0; i < 2; i++) {
        lease_work_after(SIGN_NS - MS_NS);
        burst_assert_silent();
        lease_work_after(MS_NS);
        const struct hm_damon_answer *sign = &lease_hear()->answer;
        assert_int_equal(sign->head.kind, HM_DAMON_ANSWER);
        assert_int_equal(sign->number, 0);
    }
}

static void assert_sign(void)
{
    const union hm_damon_message *message = lease_hear();
    for (uint64_t ns = 0; message->head.kind == 0 && ns <= SIGN_NS; ns += SECOND_NS) {
        lease_work_after(SECOND_NS);
        message = lease_hear();
    }
    if (message->head.kind == HM_DAMON_ANSWER)
        assert_int_equal(message->answer.number, 0);
    else
        assert_int_equal(message->head.kind, HM_DAMON_LIST); /* a round has ended */
}

static void a_client_hears_of_the_broker_while_bursts_find_nothing(void **state)
{
    (void)state;
    burst_watch_both();
    assert_sign(); /* no list comes */
    burst_watch(&burst_child, 1, 1);
    burst_end_child();
    assert_sign();
}

/* As they run all the time, the time in which they ran has paid for what they cost. */
static void looks_before_bursts_are_paid_for(void **state)
{
    (void)state;
    const pid_t pid = getpid();
    assert_int_equal(lease_watch(&pid, 1).head.n, 1);
    lease_work_after(100 * SECOND_NS);
    kernel_use_cpu(0, 600 * MS_NS); /* 60 % of the budget */
    lease_begin_bursts();
    assert_int_equal(hm_damon_lease_wait_ms(&lease), 1);
    lease_work_after(0);
    assert_true(burst_is_on());
}

/* What the budget of the last half minute has left pays for bursts in a row; what was left before is gone. */
static void bursts_may_have_what_was_left_of_the_budget(void **state)
{
    (void)state;
    const pid_t pid = getpid();
    lease_watch(&pid, 1);
    lease_work_after(1000 * SECOND_NS);
    lease_begin_bursts();
    kernel.burst_cpu_ns = 20 * MS_NS; /* two seconds of the budget */
    double before_s = spent_s();
    while (lease.bursts.next_ns <= kernel.now_ns)
        run_burst();
    assert_float_equal(spent_s() - before_s, 0.3, 0.1);
}

static int lowest_descriptor(void)
{
    int fd = dup(lease_client);
    close(fd);
    return fd;
}

/* Setting a burst up costs more than half of its CPU time otherwise. */
static void targets_stay_from_burst_to_burst(void **state)
{
    (void)state;
    int before = lowest_descriptor();
    burst_watch_both();
    for (int burst = 0; burst < 2; burst++) {
        lease_work_after(SECOND_NS);
        if (burst == 0)
            kernel_put(DAMON_FILES "0/contexts/0/targets/1/pid_target", "kept");
        burst_end(3);
        assert_string_equal(kernel_text("0/contexts/0/targets/nr_targets"), "2");
        assert_string_equal(kernel_text("0/contexts/0/targets/1/pid_target"), "kept");
        assert_string_equal(kernel_text("0/contexts/0/targets/1/regions/1/start"), "12288");
        kernel_put(DAMON_FILES "0/contexts/0/targets/1/regions/1/start", "old");
    }
    lease_hear_all();
    lease_ask(); /* the watch ends: other processes may get the numbers */
    assert_string_equal(kernel_text("0/contexts/0/targets/nr_targets"), "0");
    assert_int_equal(lowest_descriptor(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_kdamond_is_on_until_all_lists_have_come, burst_set_up, burst_tear_down),
        cmocka_unit_test_setup_teardown(a_list_says_what_its_looks_stand_for, burst_set_up, burst_tear_down),
        cmocka_unit_test_setup_teardown(the_next_burst_waits_as_long_as_the_budget_wants, burst_set_up,
                                        burst_tear_down),
        cmocka_unit_test_setup_teardown(an_advance_on_the_budget_is_paid_back, burst_set_up, burst_tear_down),
        cmocka_unit_test_setup_teardown(a_new_connection_brings_no_new_advance, burst_set_up, burst_tear_down),
        cmocka_unit_test_setup_teardown(asking_again_brings_no_burst_earlier, burst_set_up, burst_tear_down),
        cmocka_unit_test_setup_teardown(a_client_hears_of_the_broker_in_a_long_pause, burst_set_up, burst_tear_down),
        cmocka_unit_test_setup_teardown(a_client_hears_of_the_broker_while_bursts_find_nothing, burst_set_up,
                                        burst_tear_down),
        cmocka_unit_test_setup_teardown(bursts_may_have_what_was_left_of_the_budget, burst_set_up, burst_tear_down),
        cmocka_unit_test_setup_teardown(looks_before_bursts_are_paid_for, burst_set_up, burst_tear_down),
        cmocka_unit_test_setup_teardown(targets_stay_from_burst_to_burst, burst_set_up, burst_tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
