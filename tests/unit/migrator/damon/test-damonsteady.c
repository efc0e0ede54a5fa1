/* SPDX-License-Identifier: Apache-2.0 */
/* Tests a kdamond of the DAMON broker that looks all the time. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "steadyfixture.h"
#include "unit/lib/pageshift.h"

#define ALICE 4711

static void the_kdamond_is_on_from_the_answer_on(void **state)
{
    (void)state;
    steady_watch(2);
    assert_true(steady_is_on(0));
    assert_string_equal(kernel_text("0/contexts/0/targets/nr_targets"), "2");
    assert_string_equal(kernel_text("0/contexts/0/targets/1/regions/1/start"), "12288");
    lease.steady.settings.look_us = 20950;
    assert_int_equal(hm_damon_lease_wait_ms(&lease), 419);
    steady_look(HM_DAMON_LOOKS / 2);
    const struct hm_damon_list *list = &lease_hear()->list;
    assert_int_equal(list->head.kind, HM_DAMON_LIST);
    assert_int_equal(list->process, 0);
    assert_int_equal(list->region[0].looks, HM_DAMON_LOOKS);
    assert_int_equal(list->way, HM_DAMON_STEADY);
    assert_int_equal(list->span_ms, 419);
    assert_int_equal(list->region[0].accesses, HM_DAMON_LOOKS / 2);
    assert_int_equal(list->rounds, 0);
    list = &lease_hear()->list;
    assert_int_equal(list->process, 1);
    assert_int_equal(list->rounds, 0);
    assert_int_equal(lease_hear()->list.rounds, 1);
    assert_true(steady_is_on(0) && kernel.starts == 1);
}

/* Has the lease of the second kdamond watch this process. Returns the client's end of its socket. */
static int watch_from(struct hm_damon_lease *other)
{
    const struct hm_damon_lease first = lease;
    const int client = lease_client;
    lease_connect(2, &first.peer);
    steady_watch(1);
    const int end = lease_client;
    *other = lease;
    lease = first;
    lease_client = client;
    assert_int_equal(other->kdamond, 1);
    return end;
}

static void settings_change_again_after_as_long_as_a_change_took(void **state)
{
    (void)state;
    struct hm_damon_lease other;
    steady_watch(1);
    const int end = watch_from(&other);
    for (int k = 0; k < 2; k++)
        kernel_use_cpu(k, SECOND_NS); /* over 10 s that is a tenth of a CPU instead of a hundredth */
    kernel.lists = 1;
    hm_damon_lease_work(&broker, &lease);
    hm_damon_lease_work(&broker, &other);
    kernel.now_ns += 10 * SECOND_NS;
    kernel.commit_ns = 4 * SECOND_NS;
    hm_damon_lease_work(&broker, &lease);
    assert_int_equal(kernel.commits, 1);
    hm_damon_lease_work(&broker, &other); /* no second change yet: it would hold up all clients for twice the time */
    assert_int_equal(kernel.commits, 1);
    kernel.now_ns += 4 * SECOND_NS - 1;
    hm_damon_lease_work(&broker, &other);
    assert_int_equal(kernel.commits, 1);
    kernel.now_ns++;
    hm_damon_lease_work(&broker, &other);
    assert_int_equal(kernel.commits, 2);
    hm_damon_lease_close(&broker, &other);
    close(end);
}

/* If ranges were not counted, no region would be left for the large ranges of a process with many small ones. If a
 * watched process gets new ranges, only min_regions changes. */
static void ranges_are_counted_for_the_settings(void **state)
{
    (void)state;
    steady_watch(1);
    assert_int_equal(lease.needs.n_processes, 1);
    assert_int_equal(lease.needs.n_ranges, 2);
    lease.steady.settings = (struct hm_damon_settings){.look_us = 50000, .min_regions = 7, .max_regions = 40};
    assert_int_equal(lease_watch_ranges(steady_pids, 1, 6).number, 0);
    assert_int_equal(lease.needs.n_ranges, 6);
    assert_int_equal(lease.steady.settings.look_us, 50000);
    assert_int_equal(lease.steady.settings.max_regions, 40);
    assert_int_equal(lease.steady.settings.min_regions, 5); /* (40 / 2 - 6) / 2.5 */
    steady_watch(2);
    assert_int_not_equal(lease.steady.settings.look_us, 50000); /* what holds of one process may not of another */
}

/* Has the kernel give a list of this process's regions, as if the process belonged to `its_owner` and had this
 * /proc/PID/statm. Returns the message that the client gets; its kind is 0 if there is none. */
static const union hm_damon_message *hear_list(uid_t its_owner, const char *statm)
{
    char path[64];
    lease.peer.uid = kernel.owner = ALICE;
    steady_watch(1);
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)getpid());
    kernel_put(path, statm);
    kernel.owner = its_owner;
    kernel.lists = 1;
    lease_work_after(0);
    return lease_hear();
}

static void what_a_setuid_program_accesses_is_not_sent(void **state)
{
    (void)state;
    assert_int_equal(hear_list(ALICE, "100 50")->head.kind, HM_DAMON_LIST);
    const union hm_damon_message *message = hear_list(0, "100 50"); /* it has called exec meanwhile */
    assert_int_equal(message->head.kind, HM_DAMON_ANSWER);
    assert_int_equal(message->answer.number, ESRCH); /* so that the client names its processes again */
    assert_true(lease.n == 0 && lease.thread == 0);
}

/* While a process ends, its files in /proc are root's, too. The watch goes on then, as a new one would begin without
 * regions. */
static void a_process_that_ends_does_not_end_the_watch(void **state)
{
    (void)state;
    assert_int_equal(hear_list(0, "0 0")->head.kind, 0);
    assert_true(lease.n == 1 && lease.thread > 0);
}

/* The kernel looks up its number again, which may be another process's by now. */
static void a_process_that_ends_as_settings_change_ends_the_watch(void **state)
{
    (void)state;
    steady_watch(2);
    kernel.ends_at_commit = steady_pids[1];
    kernel_use_cpu(0, SECOND_NS);
    steady_look(HM_DAMON_LOOKS / 2);
    assert_int_equal(kernel.commits, 1);
    const union hm_damon_message *message = lease_hear();
    while (message->head.kind == HM_DAMON_LIST)
        message = lease_hear();
    assert_int_equal(message->head.kind, HM_DAMON_ANSWER);
    assert_int_equal(message->answer.number, ESRCH); /* so that the client names its processes again */
    assert_true(lease.n == 0 && !steady_is_on(0));
    kernel.ends_at_commit = 0;
    steady_pids[1] = steady_fork();
    assert_true(steady_pids[1] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_kdamond_is_on_from_the_answer_on, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(settings_change_again_after_as_long_as_a_change_took, lease_set_up,
                                        lease_tear_down),
        cmocka_unit_test_setup_teardown(ranges_are_counted_for_the_settings, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(what_a_setuid_program_accesses_is_not_sent, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(a_process_that_ends_does_not_end_the_watch, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(a_process_that_ends_as_settings_change_ends_the_watch, lease_set_up,
                                        lease_tear_down),
    };
    return cmocka_run_group_tests(tests, steady_fork_all, steady_end_all);
}
