/* SPDX-License-Identifier: Apache-2.0 */
/* Tests when the messages of the DAMON broker's clients are read. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "clientsfixture.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define MS UINT64_C(1000000) /* ns */

/* `now` is what the clocks say; zeros: the true clocks are read. `cost` is how far each message, and each end of a
 * watch, moves them on. */
static struct hm_damon_moment now, cost;

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_hm_damon_check_kernel(struct hm_error *error);
void __wrap_hm_damon_stop(unsigned k, const struct hm_damon_owned *owned);
int __wrap_hm_damon_turn_off(unsigned k, const struct hm_damon_owned *owned);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    uint64_t ns = clock == CLOCK_PROCESS_CPUTIME_ID ? now.cpu_ns : now.wall_ns;
    if (ns == 0)
        return __real_clock_gettime(clock, time);
    *time = (struct timespec){.tv_sec = (time_t)(ns / (1000 * MS)), .tv_nsec = (long)(ns % (1000 * MS))};
    return 0;
}

static void work_for(const struct hm_damon_moment *spent)
{
    now.wall_ns += spent->wall_ns;
    now.cpu_ns += spent->cpu_ns;
}

int __wrap_hm_damon_check_kernel(struct hm_error *error)
{
    work_for(&cost);
    return hm_fail(error, ENODEV, "no DAMON here");
}

void __wrap_hm_damon_stop(unsigned k, const struct hm_damon_owned *owned)
{
    (void)k, (void)owned;
    work_for(&cost);
}

int __wrap_hm_damon_turn_off(unsigned k, const struct hm_damon_owned *owned)
{
    (void)k, (void)owned;
    return 0;
}

/* From now on time passes by work and by pass() only. */
static void stop_clocks(unsigned wall_ms, unsigned cpu_ms)
{
    now = (struct hm_damon_moment){1000000 * MS, 1000 * MS};
    cost = (struct hm_damon_moment){wall_ms * MS, cpu_ms * MS};
}

static void pass(uint64_t ms)
{
    now.wall_ns += ms * MS;
    hm_damon_clients_serve(clients);
}

static int set_up(void **state)
{
    now = cost = (struct hm_damon_moment){0, 0};
    return clients_set_up(state);
}

static void ask(int number)
{
    struct hm_damon_watch watch = {.interval_ms = HM_DAMON_MIN_INTERVAL_MS, .budget = HM_DAMON_MIN_BUDGET};
    size_t size = hm_damon_wire_begin(&watch, HM_DAMON_WATCH, 1, 0);
    assert_int_equal(send(connection[number], &watch, size, 0), size);
}

/* Was the message on this connection read? */
static bool has_answer(int number)
{
    struct hm_damon_answer answer;
    return recv(connection[number], &answer, sizeof(answer), MSG_DONTWAIT) > 0;
}

static void leave(int number)
{
    close(connection[number]);
    connection[number] = -1;
    hm_damon_clients_serve(clients);
}

/* Has this client watch a process. */
static void begin_watch(int number)
{
    struct hm_damon_lease *lease = &clients->lease[number];
    lease->kdamond = 0;
    lease->thread = 1;
    lease->pidfd[lease->n++] = dup(ended[0]);
}

/* After a message all clients of its user wait 16 times the CPU time that it took. If the broker waited for the kernel,
 * they wait at least 16 times the whole time, or 5 s if that is less. Clients of other users wait as long as the CPU
 * time, and so do root's other clients. */
static void a_message_costs_its_user_a_pause(void **state)
{
    (void)state;
    static const struct {
        uid_t first, second;
        unsigned wall_ms, cpu_ms, pause_ms;
    } rows[] = {
        {1, 1, 100, 100, 1600}, {2, 2, 2000, 2000, 32000}, {3, 3, 2000, 100, 5000},
        {4, 4, 200, 20, 3200},  {5, 6, 100, 100, 100},     {0, 0, 100, 100, 100},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        stop_clocks(rows[i].wall_ms, rows[i].cpu_ms);
        clients->pauses = (struct hm_damon_pauses){0};
        int first = come(rows[i].first, 1);
        int second = come(rows[i].second, 1);
        int silent = come(rows[i].second, 1);
        ask(first);
        pass(0);
        assert_true(has_answer(first));
        ask(second);
        leave(silent); /* what costs less meanwhile does not cut the pause short */
        pass(rows[i].pause_ms - 1);
        assert_false(has_answer(second));
        pass(1);
        assert_true(has_answer(second));
        leave(first);
        leave(second);
    }
}

/* A user with sixteen connections, who asks again on each as soon as it has its answer, keeps the broker no longer at
 * work than with one. Each connection has its turn, and another user has theirs. */
static void more_connections_bring_no_more_of_the_broker(void **state)
{
    (void)state;
    stop_clocks(100, 100);
    come(1, 16);
    int other = come(2, 1), answers[17] = {0}, sum = 0;
    for (int i = 0; i <= other; i++)
        ask(i);
    for (const uint64_t end = now.wall_ns + 60000 * MS; now.wall_ns < end; pass(50)) {
        for (int i = 0; i <= other; i++) {
            if (!has_answer(i))
                continue;
            answers[i]++;
            ask(i);
        }
    }
    for (int i = 0; i < other; i++) {
        assert_in_range(answers[i], 1, 3);
        sum += answers[i];
    }
    assert_in_range(sum, 28, 36);
    assert_in_range(answers[other], 28, 36);
}

/* The migrator of a step that begins waits ten seconds for its first answer. So its message goes before others, but not
 * before that of a client whose last message is more than ten seconds older than the new connection. */
static void a_first_message_goes_ahead(void **state)
{
    (void)state;
    static const struct {
        unsigned served_ms; /* how long ago the older client was served */
        bool is_ahead;
    } rows[] = {{9999, true}, {10001, false}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        stop_clocks(100, 100);
        clients->pauses = (struct hm_damon_pauses){0};
        int older = come(1, 1);
        int newer = come(1, 1);
        clients->lease[0].asked_ns = now.wall_ns - rows[i].served_ms * MS;
        ask(older);
        ask(newer);
        pass(0);
        assert_int_equal(has_answer(newer), rows[i].is_ahead);
        assert_int_equal(has_answer(older), !rows[i].is_ahead);
        leave(older);
        leave(newer);
    }
}

/* Nobody gains by connecting anew: the pause of the client that has gone goes on for its user, but for 5 s at most, and
 * the end of its watch counts as work for that user, whose pause is added to what is left then. */
static void a_new_connection_is_no_way_around_a_pause(void **state)
{
    (void)state;
    static const struct {
        unsigned served_ms, end_ms, pause_ms;
    } rows[] = {{0, 0, 500}, {100, 0, 1600}, {2000, 0, 5000}, {0, 100, 2000}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        stop_clocks(rows[i].end_ms, rows[i].end_ms);
        clients->pauses = (struct hm_damon_pauses){0};
        int first = come(1, 1);
        clients->lease[0].asked_ns = now.wall_ns;
        clients->lease[0].served_ns = rows[i].served_ms * MS;
        begin_watch(0);
        leave(first);
        assert_int_equal(count_of(1), 0);
        int again = come(1, 1);
        ask(again);
        pass(rows[i].pause_ms - 1);
        assert_false(has_answer(again));
        pass(1);
        assert_true(has_answer(again));
        leave(again);
    }
}

/* Has a new connection of the user 1 no answer before its pause is over, and one then? */
static void assert_pause(uint64_t ms)
{
    int number = come(1, 1);
    ask(number);
    pass(ms - 1);
    assert_false(has_answer(number));
    pass(1);
    assert_true(has_answer(number));
}

static void watches_that_end_together_all_count(void **state)
{
    (void)state;
    stop_clocks(100, 100);
    come(1, 16);
    for (int c = 0; c < 16; c++) {
        begin_watch(c);
        close(connection[c]);
        connection[c] = -1;
    }
    hm_damon_clients_serve(clients);
    assert_int_equal(count_of(1), 0);
    assert_pause(16 * 1600 - 15 * 100); /* the first pause has begun when the first watch has ended */
}

/* The broker ends a watch when its process becomes another user's (setuid), which a client can bring about at will. */
static void a_watch_that_the_broker_ends_counts(void **state)
{
    (void)state;
    stop_clocks(100, 100);
    come(1, 1);
    begin_watch(0);
    clients->lease[0].is_lost = true;
    hm_damon_clients_serve(clients);
    assert_true(clients->lease[0].n == 0 && clients->lease[0].thread == 0);
    assert_pause(1600);
}

/* What was sent on a connection that is closed by now, is not worth any work. */
static void who_has_gone_is_not_served(void **state)
{
    (void)state;
    stop_clocks(100, 100);
    int gone = come(1, 1);
    ask(gone);
    leave(gone);
    assert_int_equal(count_of(1), 0);
    assert_int_equal(now.cpu_ns, 1000 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_message_costs_its_user_a_pause, set_up, clients_tear_down),
        cmocka_unit_test_setup_teardown(more_connections_bring_no_more_of_the_broker, set_up, clients_tear_down),
        cmocka_unit_test_setup_teardown(a_first_message_goes_ahead, set_up, clients_tear_down),
        cmocka_unit_test_setup_teardown(a_new_connection_is_no_way_around_a_pause, set_up, clients_tear_down),
        cmocka_unit_test_setup_teardown(watches_that_end_together_all_count, set_up, clients_tear_down),
        cmocka_unit_test_setup_teardown(a_watch_that_the_broker_ends_counts, set_up, clients_tear_down),
        cmocka_unit_test_setup_teardown(who_has_gone_is_not_served, set_up, clients_tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
