/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what the source damon makes of its broker's lists, which it passes on, and of its silence. The broker is fake.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "fakebroker.h"
#include "unit/lib/rows.h"

/* A process that does not let DAMON look at its memory holds up the broker. The broker is given up only if it watches
 * a process, and if no message from it waits to be read. */
static void a_broker_that_says_nothing_for_a_minute_is_given_up(void **state)
{
    (void)state;
    struct hm_damon_watch watch;
    struct hm_error error = {""};
    struct hm_damon_answer answer = {0};
    size_t size = hm_damon_wire_begin(&answer, HM_DAMON_ANSWER, 1, 0);
    memset(process, 0, sizeof(process));
    process[0].resident = 1000;
    struct hm_source *source = connect_source(&watch);
    now_s += 1000;
    assert_int_equal(source->update(source, first_of(1), maps, &error), 0);
    take(&watch, 1);
    now_s += 60;
    assert_int_equal(source->update(source, first_of(1), maps, &error), 0);
    now_s += 1;
    assert_int_equal(send(broker, &answer, size, 0), size);
    assert_int_equal(source->update(source, first_of(1), maps, &error), 0);
    assert_int_equal(source->read(source, first_of(1), NULL, NULL, &error), 0);
    now_s += 60;
    assert_int_equal(source->update(source, first_of(1), maps, &error), 0);
    now_s += 1;
    assert_int_equal(source->update(source, first_of(1), maps, &error), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_string_equal(error.text, "the DAMON broker has sent nothing for 60 s");
    disconnect(source);
}

static struct hm_observation seen; /* the last one */
static size_t n_seen;

static void see(void *data, const struct hm_observation *observation, size_t n)
{
    (void)data;
    seen = n > 0 ? observation[n - 1] : seen;
    n_seen += n;
}

/* Has the broker send a list of n regions. */
static void send_list(struct hm_damon_list list, uint32_t generation, uint32_t n)
{
    list.span_ms = 5000;
    for (uint32_t i = 0; i < n; i++)
        list.region[i] = (struct hm_damon_region){(uint64_t)(MAPPED + 16 * i) << hm_page_shift(),
                                                  (uint64_t)(MAPPED + 16 * (i + 1)) << hm_page_shift(), 5, 10, 16000};
    size_t size = hm_damon_wire_begin(&list, HM_DAMON_LIST, generation, n);
    assert_int_equal(send(broker, &list, size, 0), size);
}

/* Has the source read what was sent. Returns how many observations it passes on. */
static size_t read_list(struct hm_source *source, const struct hm_ranks *ranks)
{
    struct hm_error error = {""};
    n_seen = 0;
    assert_int_equal(source->read(source, ranks, see, NULL, &error), 0);
    return n_seen;
}

static pid_t first_pid; /* of the first slot, where that has another process by now; 0: it is the first one's */

/* As send_list and read_list, with one process. */
static size_t pass_list(struct hm_source *source, struct hm_damon_list list, uint32_t generation, uint32_t n)
{
    const struct hm_ranks *ranks = first_of(1);
    ranks->rank[0].pid = first_pid ? first_pid : ranks->rank[0].pid;
    send_list(list, generation, n);
    return read_list(source, ranks);
}

/* Connects a source that watches one process. */
static struct hm_source *watch_one(struct hm_damon_watch *watch)
{
    struct hm_error error = {""};
    memset(process, 0, sizeof(process));
    process[0].resident = 1000;
    struct hm_source *source = connect_source(watch);
    assert_int_equal(source->update(source, first_of(1), maps, &error), 0);
    take(watch, 1);
    return source;
}

/* The source says when what it has said before cannot be compared with what it says now. */
static void a_list_is_passed_on(void **state)
{
    (void)state;
    static const struct {
        enum hm_damon_way way;
        uint32_t scatter;
        unsigned ways;
    } rows[] = {{HM_DAMON_BURSTS, 0, 0},
                {HM_DAMON_BURSTS, 1500, 0},
                {HM_DAMON_STEADY, 0, 1},
                {HM_DAMON_STEADY, 0, 1},
                {HM_DAMON_BURSTS, 0, 2}};
    struct hm_damon_watch watch;
    struct hm_source *source = watch_one(&watch);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        float excess[2];
        for (int k = 0; k < 2; k++) {
            struct hm_damon_list list = {.rounds = 3, .way = rows[i].way, .scatter = k * rows[i].scatter};
            size_t n = pass_list(source, list, watch.head.generation, 1);
            list.rounds = 4;
            n += rows[i].way == HM_DAMON_BURSTS ? pass_list(source, list, watch.head.generation, 0) : 0;
            assert_int_equal(n, 1);
            excess[k] = seen.excess;
        }
        assert_int_equal(seen.page, HM_PAGE(0, MAPPED));
        assert_int_equal(seen.n_pages, 16);
        assert_float_equal((1 + excess[1]) / (1 + excess[0]), 1 + rows[i].scatter / 1000.0, 1e-5);
        assert_int_equal(source->state.ways, rows[i].ways);
        assert_int_equal(source->state.rounds, rows[i].way == HM_DAMON_BURSTS ? 4 : 3);
        assert_int_equal(source->state.has_rounds, rows[i].way == HM_DAMON_BURSTS);
    }
    disconnect(source);
}

/* A phase that ends in the middle of a round would take what was looked at once more for hotter. */
static void what_a_round_of_bursts_finds_is_passed_on_as_it_ends(void **state)
{
    (void)state;
    static const struct {
        enum hm_damon_way way;
        uint32_t rounds, later, n; /* rounds that have ended, lists of processes that came later, regions */
        size_t n_seen;
    } rows[] = {
        {HM_DAMON_BURSTS, 0, 0, 3, 0}, {HM_DAMON_BURSTS, 0, 0, 2, 0}, {HM_DAMON_BURSTS, 1, 0, 4, 5},
        {HM_DAMON_BURSTS, 2, 0, 0, 4}, {HM_DAMON_BURSTS, 2, 0, 1, 0}, {HM_DAMON_BURSTS, 2, 1, 2, 1},
        {HM_DAMON_STEADY, 2, 1, 3, 3}, /* the two before are of the other way: whoever counts has begun anew */
        {HM_DAMON_STEADY, 2, 1, 3, 3},
    };
    struct hm_damon_watch watch;
    struct hm_error error = {""};
    struct hm_source *source = watch_one(&watch);
    for (size_t i = 0, later = 0; i < N_ROWS(rows); i++) {
        for (; later < rows[i].later; later++) {
            process[1].resident = 1000;
            assert_int_equal(source->update(source, first_of(2), maps, &error), 0);
            take(&watch, 2);
        }
        const struct hm_damon_list list = {.rounds = rows[i].rounds, .way = rows[i].way};
        assert_int_equal(pass_list(source, list, watch.head.generation, rows[i].n), rows[i].n_seen);
    }
    disconnect(source);
}

static void what_a_round_has_found_is_not_told_of_the_next_process_in_the_slot(void **state)
{
    (void)state;
    struct hm_damon_watch watch;
    struct hm_source *source = watch_one(&watch);
    struct hm_damon_list list = {.rounds = 1, .way = HM_DAMON_BURSTS};
    assert_int_equal(pass_list(source, list, watch.head.generation, 3), 0);
    first_pid = PID + MOST;
    list.rounds = 2;
    assert_int_equal(pass_list(source, list, watch.head.generation, 3), 0);
    first_pid = 0;
    disconnect(source);
}

/* A list of processes that was made anew may have other numbers for them: what is found goes by these, without another
 * list for the broker. */
static void what_is_found_goes_by_the_numbers_that_processes_have_now(void **state)
{
    (void)state;
    struct hm_damon_watch watch;
    struct hm_error error = {""};
    struct hm_source *source = watch_one(&watch);
    struct hm_rank rank[2] = {{.pid = 0}, first_of(1)->rank[0]};
    struct hm_maps moved[2] = {{.n = 0}, maps[0]};
    struct hm_rank_index by_pid = {PID, 1};
    const struct hm_ranks anew = {.rank = rank, .n = 2, .by_pid = &by_pid, .n_living = 1};
    assert_int_equal(source->update(source, &anew, moved, &error), 0);
    assert_false(has_sent());
    send_list((struct hm_damon_list){.way = HM_DAMON_STEADY}, watch.head.generation, 1);
    assert_int_equal(read_list(source, &anew), 1);
    assert_int_equal(HM_PAGE_SPACE(seen.page), 1);
    disconnect(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broker_that_says_nothing_for_a_minute_is_given_up),
        cmocka_unit_test(a_list_is_passed_on),
        cmocka_unit_test(what_a_round_of_bursts_finds_is_passed_on_as_it_ends),
        cmocka_unit_test(what_is_found_goes_by_the_numbers_that_processes_have_now),
        cmocka_unit_test(what_a_round_has_found_is_not_told_of_the_next_process_in_the_slot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
