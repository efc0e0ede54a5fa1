/* SPDX-License-Identifier: Apache-2.0 */
/* Tests a kdamond of the DAMON broker that looks all the time, and when bursts of looks take its place. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "leasefixture.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define CHILDREN 4
#define ALICE 4711

static pid_t pids[1 + CHILDREN]; /* this process, and children that only wait */

static pid_t fork_one(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    return pid;
}

static int fork_all(void **state)
{
    pids[0] = getpid();
    for (int i = 1; i <= CHILDREN; i++) {
        pids[i] = fork_one();
        if (pids[i] < 0)
            return -1;
    }
    return scratch_make(state);
}

static int end_all(void **state)
{
    for (int i = 1; i <= CHILDREN; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    return scratch_drop(state);
}

static void watch(uint32_t n)
{
    lease_hear_all();
    assert_int_equal(lease_watch(pids, n).number, 0);
    assert_int_equal(lease.n, n);
}

static bool is_on(unsigned k)
{
    return strcmp(kernel_text(k == 0 ? "0/state" : "1/state"), "on") == 0;
}

/* ------------------------------------------------------------------ looks all the time */

/* Has lists of all processes come for a second, with this share of looks that found an access. */
static void look_for_a_second(uint32_t accesses)
{
    kernel.lists = (UINT32_C(1) << lease.n) - 1;
    kernel.accesses = accesses;
    lease_work_after(0);
    lease_work_after(SECOND_NS);
    kernel.lists = 0;
}

static void the_kdamond_is_on_from_the_answer_on(void **state)
{
    (void)state;
    watch(2);
    assert_true(is_on(0));
    assert_string_equal(kernel_text("0/contexts/0/targets/nr_targets"), "2");
    assert_string_equal(kernel_text("0/contexts/0/targets/1/regions/1/start"), "12288");
    lease.steady.settings.look_us = 20950;
    assert_int_equal(hm_damon_lease_wait_ms(&lease), 419);
    look_for_a_second(HM_DAMON_LOOKS / 2);
    const struct hm_damon_list *list = &lease_hear()->list;
    assert_int_equal(list->head.kind, HM_DAMON_LIST);
    assert_int_equal(list->process, 0);
    assert_int_equal(list->looks, HM_DAMON_LOOKS);
    assert_int_equal(list->span_ms, 419);
    assert_int_equal(list->region[0].accesses, HM_DAMON_LOOKS / 2);
    assert_int_equal(lease_hear()->list.process, 1);
    assert_int_equal(lease.rounds, 2); /* two lists of each process */
    assert_true(is_on(0) && kernel.starts == 1);
}

/* Has the lease of the second kdamond watch this process. */
static void watch_from(struct hm_damon_lease *other, int pair[2])
{
    const struct hm_damon_lease first = lease;
    const int client = lease_client;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    hm_damon_lease_open(&lease, 2, pair[0], &first.peer);
    lease_client = pair[1];
    watch(1);
    *other = lease;
    lease = first;
    lease_client = client;
    assert_int_equal(other->kdamond, 1);
}

static void settings_change_again_after_as_long_as_a_change_took(void **state)
{
    (void)state;
    struct hm_damon_lease other;
    int pair[2];
    watch(1);
    watch_from(&other, pair);
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
    close(pair[1]);
}

/* If ranges were not counted, no region would be left for the large ranges of a process with many small ones. If a
 * watched process gets new ranges, only min_regions changes. */
static void ranges_are_counted_for_the_settings(void **state)
{
    (void)state;
    watch(1);
    assert_int_equal(lease.needs.n_processes, 1);
    assert_int_equal(lease.needs.n_ranges, 2);
    lease.steady.settings = (struct hm_damon_settings){.look_us = 50000, .min_regions = 7, .max_regions = 40};
    assert_int_equal(lease_watch_ranges(pids, 1, 6).number, 0);
    assert_int_equal(lease.needs.n_ranges, 6);
    assert_int_equal(lease.steady.settings.look_us, 50000);
    assert_int_equal(lease.steady.settings.max_regions, 40);
    assert_int_equal(lease.steady.settings.min_regions, 5); /* (40 / 2 - 6) / 2.5 */
}

/* Has the kernel give a list of this process's regions, as if the process belonged to `its_owner` and had this
 * /proc/PID/statm. Returns the message that the client gets; its kind is 0 if there is none. */
static const union hm_damon_message *hear_list(uid_t its_owner, const char *statm)
{
    char path[64];
    lease.peer.uid = kernel.owner = ALICE;
    watch(1);
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
    watch(2);
    kernel.ends_at_commit = pids[1];
    kernel_use_cpu(0, SECOND_NS);
    look_for_a_second(HM_DAMON_LOOKS / 2);
    assert_int_equal(kernel.commits, 1);
    const union hm_damon_message *message = lease_hear();
    while (message->head.kind == HM_DAMON_LIST)
        message = lease_hear();
    assert_int_equal(message->head.kind, HM_DAMON_ANSWER);
    assert_int_equal(message->answer.number, ESRCH); /* so that the client names its processes again */
    assert_true(lease.n == 0 && !is_on(0));
    kernel.ends_at_commit = 0;
    pids[1] = fork_one();
    assert_true(pids[1] > 0);
}

/* ------------------------------------------------------------------ bursts in place of them */

/* Between two looks there are `look_us`. */
static void assert_looks(const char *look_us)
{
    assert_string_equal(kernel_text("0/contexts/0/monitoring_attrs/intervals/sample_us"), look_us);
}

static void looks_that_find_nearly_all_in_use_become_bursts(void **state)
{
    (void)state;
    watch(2);
    look_for_a_second(HM_DAMON_LOOKS * 7 / 10);
    assert_false(lease.is_bursting);
    lease_work_after(5 * SECOND_NS);
    look_for_a_second(HM_DAMON_LOOKS * 8 / 10);
    assert_true(lease.is_bursting);
    assert_false(is_on(0));
    assert_string_equal(kernel_text("0/contexts/0/targets/nr_targets"), "0");
    lease_work_after(0);
    assert_true(is_on(0));
    assert_looks("16000");
    assert_int_equal(kernel.starts, 2);
}

/* Bursts would be calm at once. */
static void looks_at_memory_that_is_mostly_idle_go_on(void **state)
{
    (void)state;
    watch(2);
    kernel.idle_pages = 1; /* beside one that is in use */
    look_for_a_second(HM_DAMON_LOOKS);
    assert_false(lease.is_bursting);
    kernel.idle_pages = 0;
    lease_work_after(5 * SECOND_NS);
    look_for_a_second(HM_DAMON_LOOKS);
    assert_true(lease.is_bursting);
}

/* Where the budget allows for shorter times between two looks, these are tried first. */
static void shorter_times_come_before_bursts(void **state)
{
    (void)state;
    watch(1);
    kernel_use_cpu(0, SECOND_NS / 10000); /* a hundredth of the budget */
    lease.steady.settings.look_us = 100000;
    look_for_a_second(HM_DAMON_LOOKS);
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
    assert_true(is_on(0));
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
    watch(2);
    lease_begin_bursts();
    for (int i = 0; i < 5; i++)
        run_burst(HM_DAMON_VISIT_LOOKS / 2);
    assert_true(lease.is_bursting);
    run_burst(0); /* the next looks are four times as far apart */
    run_burst(0);
    assert_false(lease.is_bursting);
    assert_true(is_on(0));
    assert_string_equal(kernel_text("0/contexts/0/targets/nr_targets"), "2");
    look_for_a_second(HM_DAMON_LOOKS); /* and back again */
    assert_true(lease.is_bursting);
}

/* Looks all the time would be blind again. */
static void a_time_with_which_looks_were_blind_is_not_calm(void **state)
{
    (void)state;
    watch(2);
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
    watch(2);
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
        watch(rows[i].before);
        if (!lease.is_bursting)
            lease_begin_bursts();
        watch(rows[i].after);
        assert_int_equal(lease.is_bursting, rows[i].is_bursting);
        assert_int_equal(is_on(0), !rows[i].is_bursting); /* the next burst begins a moment later */
    }
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
        cmocka_unit_test_setup_teardown(looks_that_find_nearly_all_in_use_become_bursts, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(looks_at_memory_that_is_mostly_idle_go_on, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(shorter_times_come_before_bursts, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(calm_bursts_become_looks_all_the_time, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(a_time_with_which_looks_were_blind_is_not_calm, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(a_round_alone_is_not_calm, lease_set_up, lease_tear_down),
        cmocka_unit_test_setup_teardown(other_processes_are_looked_at_all_the_time_first, lease_set_up,
                                        lease_tear_down),
    };
    return cmocka_run_group_tests(tests, fork_all, end_all);
}
