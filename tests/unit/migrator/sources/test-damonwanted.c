/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which processes, which are fake, the source damon has its broker watch, and what it tells of the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "fakebroker.h"
#include "unit/lib/rows.h"

/* Has the source ask for a watch of the first n processes; its request must name `n_wanted` of them. */
static void ask(uint32_t n, uint32_t n_wanted, struct hm_damon_watch *watch)
{
    struct hm_error error = {""};
    struct hm_source *source = connect_source(watch);
    assert_int_equal(source->update(source, first_of(n), maps, &error), 0);
    take(watch, n_wanted);
    disconnect(source);
}

/* Checks that the request names process i, with its mapping. */
static void assert_is(const struct hm_damon_process *asked, uint32_t i)
{
    assert_int_equal(asked->pid, PID + i);
    assert_int_equal(asked->start_time, 7 * i);
    assert_int_equal(asked->n_ranges, 1);
    assert_int_equal(asked->range[0].start, (uint64_t)(i + 1) * MAPPED << hm_page_shift());
    assert_int_equal(asked->range[0].end, (uint64_t)(i + 2) * MAPPED << hm_page_shift());
}

static void the_smallest_are_left_out_up_to_a_hundredth(void **state)
{
    (void)state;
    static const struct {
        uint32_t n, n_wanted;
        uint64_t resident[4];
        uint32_t wanted[4];
    } rows[] = {
        {1, 1, {0}, {0}},
        {3, 3, {100, 100, 100}, {0, 1, 2}},
        {2, 1, {0, 7}, {1}},
        {4, 2, {600, 400, 4, 5}, {0, 1}}, /* 9 pages of 1009 are left out */
        /* 4 pages of 1000 are left out. 4 and 6 together would be 1 %, which is too much. */
        {4, 3, {500, 490, 4, 6}, {0, 1, 3}},
        {4, 2, {2, 50000, 300, 9000}, {1, 3}},
    };
    for (size_t row = 0; row < N_ROWS(rows); row++) {
        struct hm_damon_watch watch;
        memset(process, 0, sizeof(process));
        for (uint32_t i = 0; i < rows[row].n; i++)
            process[i].resident = rows[row].resident[i];
        ask(rows[row].n, rows[row].n_wanted, &watch);
        for (uint32_t i = 0; i < rows[row].n_wanted; i++)
            assert_is(&watch.process[i], rows[row].wanted[i]);
    }
}

/* Shells beside the ranks of a program: each would take as many looks as a rank. */
static void idle_processes_are_left_out_up_to_a_tenth(void **state)
{
    (void)state;
    static const struct {
        uint64_t resident[4];
        double cpu_s[4];
        uint32_t n_wanted, wanted[4];
    } rows[] = {
        {{1000, 1000, 60, 50}, {90, 80, 0, 1}, 2, {0, 1}},
        {{1000, 1000, 60, 50}, {90, 80, 0, 2}, 3, {0, 1, 3}},   /* the last one works */
        {{1000, 1000, 60, 50}, {90, 80, 0, -1}, 3, {0, 1, 3}},  /* or may have worked */
        {{1000, 1000, 600, 50}, {90, 80, 0, 0}, 3, {0, 1, 2}},  /* much memory is watched, idle or not */
        {{1000, 1000, 60, 50}, {0, 0, 0, 0}, 4, {0, 1, 2, 3}},  /* nobody has begun */
        {{1000, 1000, 120, 110}, {90, 80, 0, 0}, 3, {0, 1, 2}}, /* both together would be too much */
        {{1000, 1000, 10, 9}, {90, 80, 30, 40}, 2, {0, 1}},     /* small ones are left out though they work */
    };
    for (size_t row = 0; row < N_ROWS(rows); row++) {
        struct hm_damon_watch watch;
        memset(process, 0, sizeof(process));
        for (uint32_t i = 0; i < 4; i++) {
            process[i].resident = rows[row].resident[i];
            process[i].cpu_s = rows[row].cpu_s[i];
        }
        ask(4, rows[row].n_wanted, &watch);
        for (uint32_t i = 0; i < rows[row].n_wanted; i++)
            assert_is(&watch.process[i], rows[row].wanted[i]);
    }
}

static void what_cannot_be_watched_is_not_asked_for(void **state)
{
    (void)state;
    struct hm_damon_watch watch;
    for (int kind = USUAL; kind <= ENDED; kind++) {
        memset(process, 0, sizeof(process));
        process[0].resident = process[1].resident = process[2].resident = 1000;
        process[1].kind = (enum kind)kind;
        ask(3, kind == USUAL ? 3 : 2, &watch);
        assert_is(&watch.process[0], 0);
        assert_is(&watch.process[watch.head.n - 1], 2);
    }
}

/* The largest processes are asked for. With equal processes, the last two are left out: together less than 1 %. */
static void no_more_are_asked_for_than_a_message_holds(void **state)
{
    (void)state;
    struct hm_damon_watch watch;
    memset(process, 0, sizeof(process));
    for (uint32_t i = 0; i < MOST; i++)
        process[i].resident = 1000;
    ask(HM_DAMON_TARGETS, HM_DAMON_TARGETS - 2, &watch);
    process[MOST - 1].resident = 2000;
    ask(MOST, HM_DAMON_TARGETS, &watch);
    assert_is(&watch.process[0], MOST - 1);
    assert_is(&watch.process[1], 0);
}

/* What the processes that are not watched use is not known. The watched ones stay as the sizes of all vary a little. */
static void what_is_beyond_a_message_is_marked_and_told(void **state)
{
    (void)state;
    struct hm_damon_watch watch;
    struct hm_error error = {""};
    const struct hm_ranks *ranks = first_of(MOST);
    memset(process, 0, sizeof(process));
    for (uint32_t i = 0; i < MOST; i++)
        process[i].resident = 1000;
    struct hm_source *source = connect_source(&watch);
    assert_int_equal(source->update(source, ranks, maps, &error), 0);
    take(&watch, HM_DAMON_TARGETS);
    /* Two are left out on purpose, as they are small; the rest does not fit. */
    for (uint32_t i = 0; i < MOST; i++)
        assert_int_equal(ranks->rank[i].has_unseen, i >= HM_DAMON_TARGETS && i < MOST - 2);
    assert_string_equal(source->state.partly, "");
    for (uint32_t i = HM_DAMON_TARGETS; i < MOST; i++)
        process[i].resident = 1900;
    for (int i = 0; i < 8; i++)
        assert_int_equal(source->update(source, ranks, maps, &error), 0);
    assert_false(has_sent());
    assert_string_equal(source->state.partly,
                        "source damon looks at 256 of 265 processes, at most at 256: what the others use is not known");
    process[HM_DAMON_TARGETS].resident = 2100;
    for (int i = 0; i < 4; i++)
        assert_int_equal(source->update(source, ranks, maps, &error), 0);
    take(&watch, HM_DAMON_TARGETS);
    assert_false(ranks->rank[HM_DAMON_TARGETS].has_unseen);
    disconnect(source);
}

/* The limit of 256 has nothing to do with them; and where there is nothing to watch, that is sent once. */
static void what_may_not_be_looked_at_is_told(void **state)
{
    (void)state;
    struct hm_damon_watch watch;
    struct hm_error error = {""};
    const struct hm_ranks *ranks = first_of(1);
    memset(process, 0, sizeof(process));
    process[0].resident = 1000;
    process[0].kind = FOREIGN;
    struct hm_source *source = connect_source(&watch);
    assert_int_equal(source->update(source, ranks, maps, &error), 0);
    take(&watch, 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(source->update(source, ranks, maps, &error), 0);
    assert_false(has_sent());
    assert_string_equal(source->state.partly, "source damon looks at 0 of 1 processes, not at those that are not "
                                              "dumpable: what the others use is not known");
    disconnect(source);
}

/* What has changed in each row since the last update, of a step with two processes. The fourth update looks at their
 * sizes in any case. */
static void a_list_is_sent_where_processes_or_mappings_have_changed(void **state)
{
    (void)state;
    static const struct {
        uint32_t n, n_sent; /* processes; those of the list that is sent, 0: none is */
        uint64_t resident;  /* of the second process */
        enum kind kind;
        uint64_t elsewhere, alias; /* by how much its mapping is elsewhere; where it has another one, 0: it has none */
    } rows[] = {
        {2, 2, 1000, USUAL, 0, 0},
        {2, 2, 1000, USUAL, MAPPED, 0},
        {2, 0, 1000, USUAL, MAPPED, 0},
        {2, 0, 1, USUAL, MAPPED, 0},
        {2, 1, 1, USUAL, MAPPED, 0},
        {2, 2, 1000, USUAL, MAPPED, 50 * MAPPED},
        {2, 2, 1000, USUAL, MAPPED, 60 * MAPPED},
        {2, 1, 1000, GONE, MAPPED, 60 * MAPPED},
        {1, 0, 1000, USUAL, 0, 0},
        {2, 2, 1000, USUAL, 0, 0},
        {1, 1, 1000, USUAL, 0, 0},
    };
    struct hm_mapped alias = {.range.n_pages = MAPPED, .may_move = true, .is_alias = true};
    struct hm_damon_watch watch;
    struct hm_error error = {""};
    memset(process, 0, sizeof(process));
    process[0].resident = 1000;
    struct hm_source *source = connect_source(&watch);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        process[1].resident = rows[i].resident;
        process[1].kind = rows[i].kind;
        const struct hm_ranks *ranks = first_of(rows[i].n);
        maps[1].range[0].first += rows[i].n > 1 ? rows[i].elsewhere : 0;
        alias.range.first = rows[i].alias;
        maps[1].mapped = &alias;
        maps[1].n_mapped = maps[1].n_aliases = rows[i].alias > 0;
        assert_int_equal(source->update(source, ranks, maps, &error), 0);
        if (rows[i].n_sent > 0)
            take(&watch, rows[i].n_sent);
        if (has_sent())
            fail_msg("row %zu: a list is sent", i);
    }
    disconnect(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_are_left_out_up_to_a_hundredth),
        cmocka_unit_test(idle_processes_are_left_out_up_to_a_tenth),
        cmocka_unit_test(what_cannot_be_watched_is_not_asked_for),
        cmocka_unit_test(no_more_are_asked_for_than_a_message_holds),
        cmocka_unit_test(what_is_beyond_a_message_is_marked_and_told),
        cmocka_unit_test(what_may_not_be_looked_at_is_told),
        cmocka_unit_test(a_list_is_sent_where_processes_or_mappings_have_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
