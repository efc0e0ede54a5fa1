/* SPDX-License-Identifier: Apache-2.0 */
/* Tests bursts of the DAMON broker that end early: the kernel refuses, or processes end or change their owner. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "burstfixture.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static void a_burst_whose_lists_do_not_come_is_given_up(void **state)
{
    (void)state;
    burst_watch_both();
    lease_work_after(0);
    kernel.lists = 1; /* the child's list never comes */
    lease_work_after(4 * LENGTH_NS + SECOND_NS);
    assert_true(burst_is_on());
    burst_assert_silent();
    lease_work_after(1);
    assert_false(burst_is_on());
    burst_assert_list(0);
    burst_assert_silent();
    kernel.lists = 0;
    lease_work_after(SECOND_NS); /* and the next one begins */
    assert_true(burst_is_on() && lease.n == 2);
    assert_string_equal(kernel_text("0/contexts/0/targets/nr_targets"), "2");
}

static void refuse_on(void)
{
    kernel.refuses_on = true;
}

static void refuse_perf(void)
{
    kernel.refuses_perf = true;
}

static void keep_busy(void)
{
    kernel.is_busy = true;
}

#define REFUSALS 5 /* in a row */

static void a_kdamond_that_cannot_start_ends_the_watch_with_an_answer(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(void);
        uint32_t number;
        const char *text;
    } rows[] = {{refuse_on, EINVAL, "cannot write state"}, {refuse_perf, EACCES, "by perf"}, {keep_busy, EBUSY, ""}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        kernel.refuses_on = kernel.refuses_perf = kernel.is_busy = false;
        burst_watch_one();
        rows[i].spoil();
        for (int n = 1; n < REFUSALS; n++)
            assert_false(lease_work_after(SECOND_NS));
        burst_assert_silent();
        assert_true(lease_work_after(SECOND_NS));
        const struct hm_damon_answer *answer = &lease_hear()->answer;
        assert_int_equal(answer->head.kind, HM_DAMON_ANSWER);
        assert_int_equal(answer->number, rows[i].number);
        assert_non_null(strstr(answer->text, rows[i].text));
        assert_true(lease.n == 0 && lease.thread == 0 && !burst_is_on());
        assert_int_equal(hm_damon_lease_wait_ms(&lease), -1);
        burst_assert_silent();
    }
    kernel.is_busy = false;
}

static void refusals_that_are_not_in_a_row_do_not_end_the_watch(void **state)
{
    (void)state;
    burst_watch_one();
    for (int n = 1; n < 2 * REFUSALS; n++) {
        kernel.refuses_on = n != REFUSALS;
        assert_false(lease_work_after(SECOND_NS));
        if (!kernel.refuses_on)
            burst_end(1);
    }
    assert_true(lease_work_after(SECOND_NS));
}

static void processes_that_have_ended_are_left_out(void **state)
{
    (void)state;
    const pid_t pid[] = {burst_child, getpid()};
    burst_watch(pid, 2, 2);
    burst_end_child();
    lease_work_after(0);
    assert_string_equal(kernel_text("0/contexts/0/targets/nr_targets"), "1");
    burst_end(1);
    burst_assert_list(1); /* as the client counts them */
    burst_assert_silent();
    assert_int_equal(lease.n, 2);
}

/* A list names a process by its place in what the client has asked for. */
static void processes_that_had_ended_before_keep_their_numbers(void **state)
{
    (void)state;
    const pid_t pid[] = {burst_child, getpid()};
    siginfo_t ended;
    kill(burst_child, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)burst_child, &ended, WEXITED | WNOWAIT), 0); /* it stays a zombie */
    burst_watch(pid, 2, 1);
    lease_work_after(0);
    burst_end(1);
    burst_assert_list(1);
    burst_assert_silent();
}

/* The kernel then refuses the kdamond, or watches another process that has the number by now. */
static void a_process_that_ends_as_a_burst_begins_ends_the_burst_alone(void **state)
{
    (void)state;
    burst_watch_both();
    kernel.ends_at_start = burst_child;
    burst_child = 0;
    assert_false(lease_work_after(0));
    assert_false(burst_is_on());
    assert_true(lease.n == 2);
    burst_assert_silent();
    kernel.ends_at_start = 0;
    lease_work_after(SECOND_NS);
    burst_end(1);
    burst_assert_list(0);
    burst_assert_silent();
}

#define ALICE 4711

/* Has a burst find something in this process, as if the process belonged to `its_owner` and had this /proc/PID/statm
 * when the lists come. */
static void look_at(uid_t its_owner, const char *statm)
{
    char path[64];
    lease.peer.uid = kernel.owner = ALICE;
    burst_watch_one();
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)getpid());
    lease_work_after(SECOND_NS);
    kernel_put(path, statm);
    kernel.owner = its_owner;
    burst_end(1);
    kernel_put(path, "100 50");
}

static void what_a_setuid_program_accesses_is_not_sent(void **state)
{
    (void)state;
    look_at(ALICE, "100 50");
    burst_assert_list(0);
    look_at(0, "100 50"); /* it has called exec meanwhile */
    const struct hm_damon_answer *answer = &lease_hear()->answer;
    assert_int_equal(answer->head.kind, HM_DAMON_ANSWER);
    assert_int_equal(answer->number, ESRCH); /* so that the client names its processes again */
    burst_assert_silent();
    assert_true(lease.n == 0 && lease.thread == 0);
}

/* Has the list of this process come before the child's, when this process belonged to `its_owner` and had this
 * /proc/PID/statm. When the burst ends, it is the client's again. */
static void look_at_one_early(uid_t its_owner, const char *statm)
{
    char path[64];
    lease.peer.uid = kernel.owner = ALICE;
    burst_watch_both();
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)getpid());
    lease_work_after(SECOND_NS);
    kernel_put(path, statm);
    kernel.owner = its_owner;
    kernel.lists = 1;
    lease_work_after(LENGTH_NS);
    kernel.owner = ALICE;
    kernel_put(path, "100 50");
}

static void a_setuid_program_that_has_ended_meanwhile_is_not_sent_either(void **state)
{
    (void)state;
    look_at_one_early(ALICE, "100 50");
    burst_end(3);
    burst_assert_list(0);
    burst_assert_list(1);
    look_at_one_early(0, "0 0");
    burst_end(3); /* the first list is there again */
    burst_assert_list(1);
    burst_assert_silent();
    look_at_one_early(0, "100 50");
    assert_int_equal(lease_hear()->answer.number, ESRCH);
    burst_assert_silent();
    assert_true(lease.n == 0 && !burst_is_on());
}

static void what_waits_for_other_lists_is_not_sent_of_a_setuid_program(void **state)
{
    (void)state;
    look_at_one_early(ALICE, "100 50");
    kernel.owner = 0;
    kernel.lists = 0;
    lease_work_after(4 * LENGTH_NS + SECOND_NS);
    assert_int_equal(lease_hear()->answer.number, ESRCH);
    burst_assert_silent();
}

/* While a process ends, its files in /proc are root's, too. The watch of the others goes on then. */
static void a_process_that_ends_does_not_end_the_watch(void **state)
{
    (void)state;
    look_at(0, "0 0");
    burst_assert_silent();
    assert_int_equal(lease.n, 1);
    kernel.owner = ALICE;
    lease_work_after(SECOND_NS);
    assert_true(burst_is_on());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_burst_whose_lists_do_not_come_is_given_up, burst_set_up, burst_tear_down),
        cmocka_unit_test_setup_teardown(a_kdamond_that_cannot_start_ends_the_watch_with_an_answer, burst_set_up,
                                        burst_tear_down),
        cmocka_unit_test_setup_teardown(refusals_that_are_not_in_a_row_do_not_end_the_watch, burst_set_up,
                                        burst_tear_down),
        cmocka_unit_test_setup_teardown(processes_that_have_ended_are_left_out, burst_set_up, burst_tear_down),
        cmocka_unit_test_setup_teardown(processes_that_had_ended_before_keep_their_numbers, burst_set_up,
                                        burst_tear_down),
        cmocka_unit_test_setup_teardown(a_process_that_ends_as_a_burst_begins_ends_the_burst_alone, burst_set_up,
                                        burst_tear_down),
        cmocka_unit_test_setup_teardown(what_a_setuid_program_accesses_is_not_sent, burst_set_up, burst_tear_down),
        cmocka_unit_test_setup_teardown(a_setuid_program_that_has_ended_meanwhile_is_not_sent_either, burst_set_up,
                                        burst_tear_down),
        cmocka_unit_test_setup_teardown(what_waits_for_other_lists_is_not_sent_of_a_setuid_program, burst_set_up,
                                        burst_tear_down),
        cmocka_unit_test_setup_teardown(a_process_that_ends_does_not_end_the_watch, burst_set_up, burst_tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
