/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the checks of messages between the DAMON broker and its clients. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "migrator/damon/wire.h"
#include "unit/lib/pageshift.h"
#include "unit/lib/rows.h"

#define PAGE hm_page_size()

static struct hm_error error;
static union hm_damon_message message;

/* A watch message of n processes in which every field is valid. */
static size_t good_watch(uint32_t n)
{
    memset(&message, 0, sizeof(message));
    message.watch.interval_ms = 10000;
    message.watch.budget = 5000;
    for (uint32_t i = 0; i < n; i++)
        message.watch.process[i] = (struct hm_damon_process){
            .pid = (int32_t)(100 + i), .n_ranges = 2, .range = {{PAGE, 2 * PAGE}, {2 * PAGE, 10 * PAGE}}};
    return hm_damon_wire_begin(&message, HM_DAMON_WATCH, 7, n);
}

static size_t good_list(uint32_t n)
{
    memset(&message, 0, sizeof(message));
    message.list.span_ms = 10000;
    for (uint32_t i = 0; i < n; i++)
        message.list.region[i] = (struct hm_damon_region){.start = hm_page_size() * (i + 1),
                                                          .end = hm_page_size() * (i + 2),
                                                          .accesses = 20,
                                                          .looks = 20,
                                                          .look_us = 1000 + i};
    return hm_damon_wire_begin(&message, HM_DAMON_LIST, 7, n);
}

static void spoil_magic(void)
{
    message.head.magic++;
}

static void spoil_kind(void)
{
    message.head.kind = 9;
}

static void spoil_count(void)
{
    message.head.n = HM_DAMON_TARGETS + 1;
}

static void overflow_count(void)
{
    message.head.n = UINT32_MAX / 16 + 2;
}

static void pid_zero(void)
{
    message.watch.process[1].pid = 0;
}

static void pid_init(void)
{
    message.watch.process[1].pid = 1;
}

static void pid_negative(void)
{
    message.watch.process[1].pid = -5;
}

static void pid_twice(void)
{
    message.watch.process[1].pid = message.watch.process[0].pid;
}

static void no_ranges(void)
{
    message.watch.process[0].n_ranges = 0;
}

static void many_ranges(void)
{
    message.watch.process[0].n_ranges = HM_DAMON_RANGES + 1;
}

static void range_backwards(void)
{
    message.watch.process[1].range[1].end = PAGE;
}

static void range_overlaps(void)
{
    message.watch.process[1].range[1].start = PAGE;
}

static void range_of_part_of_a_page(void)
{
    message.watch.process[1].range[0].start = PAGE / 2;
}

static void range_too_high(void)
{
    message.watch.process[1].range[1].end = UINT64_MAX - 4095;
}

static void interval_short(void)
{
    message.watch.interval_ms = HM_DAMON_MIN_INTERVAL_MS - 1;
}

static void interval_long(void)
{
    message.watch.interval_ms = HM_DAMON_MAX_INTERVAL_MS + 1;
}

static void budget_small(void)
{
    message.watch.budget = HM_DAMON_MIN_BUDGET - 1;
}

static void budget_large(void)
{
    message.watch.budget = HM_DAMON_MAX_BUDGET + 1;
}

static const struct {
    void (*spoil)(void);
    int number;
    const char *text;
} bad_watches[] = {
    {spoil_magic, EBADMSG, "magic"},
    {spoil_kind, EBADMSG, "kind 9"},
    {spoil_count, EBADMSG, "257 entries"},
    {overflow_count, EBADMSG, "entries"},
    {pid_zero, EINVAL, "process 0"},
    {pid_init, EINVAL, "process 1:"},
    {pid_negative, EINVAL, "process -5"},
    {pid_twice, EINVAL, "named twice"},
    {no_ranges, EINVAL, "100: 0 ranges"},
    {many_ranges, EINVAL, "100: 7 ranges"},
    {range_backwards, EINVAL, "101: range 1"},
    {range_overlaps, EINVAL, "101: range 1"},
    {range_of_part_of_a_page, EINVAL, "101: range 0"},
    {range_too_high, EINVAL, "101: range 1"},
    {interval_short, EINVAL, "interval 999 ms"},
    {interval_long, EINVAL, "interval 36"},
    {budget_small, EINVAL, "budget 99 "},
    {budget_large, EINVAL, "budget 1000001"},
};

static void refuses_bad_watches(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(bad_watches); i++) {
        size_t size = good_watch(3);
        bad_watches[i].spoil();
        errno = 0;
        assert_int_equal(hm_damon_wire_check_watch(&message, size, &error), -1);
        assert_int_equal(errno, bad_watches[i].number);
        assert_non_null(strstr(error.text, bad_watches[i].text));
    }
}

static void refuses_every_wrong_size(void **state)
{
    (void)state;
    size_t right = good_watch(3);
    for (size_t size = 0; size <= sizeof(message); size++)
        assert_int_equal(hm_damon_wire_check_watch(&message, size, &error), size == right ? 0 : -1);
}

static void takes_watches_of_every_length(void **state)
{
    (void)state;
    for (uint32_t n = 0; n <= HM_DAMON_TARGETS; n++)
        assert_int_equal(hm_damon_wire_check_watch(&message, good_watch(n), &error), 0);
}

/* A question for the events of n threads in which every field is valid. */
static size_t good_borrow(uint32_t n)
{
    memset(&message, 0, sizeof(message));
    for (uint32_t i = 0; i < n; i++)
        message.borrow.thread[i] = (struct hm_damon_thread){.tid = (int32_t)(100 + i), .start_time = 1};
    return hm_damon_wire_begin(&message, HM_DAMON_BORROW, 7, n);
}

static void thread_init(void)
{
    message.borrow.thread[1].tid = 1;
}

static void thread_negative(void)
{
    message.borrow.thread[1].tid = -7;
}

static void thread_twice(void)
{
    message.borrow.thread[2].tid = message.borrow.thread[0].tid;
}

static void refuses_bad_questions_for_events(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(void);
        int number;
        const char *text;
    } rows[] = {{spoil_magic, EBADMSG, "magic"},
                {spoil_kind, EBADMSG, "kind 9"},
                {spoil_count, EBADMSG, "257 entries"},
                {overflow_count, EBADMSG, "entries"},
                {thread_init, EINVAL, "thread 1:"},
                {thread_negative, EINVAL, "thread -7"},
                {thread_twice, EINVAL, "100 is named twice"}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        size_t size = good_borrow(3);
        assert_true(hm_damon_wire_is_borrow(&message, size));
        rows[i].spoil();
        assert_int_equal(hm_damon_wire_check_borrow(&message, size, &error), -1);
        assert_int_equal(errno, rows[i].number);
        assert_non_null(strstr(error.text, rows[i].text));
    }
    for (uint32_t n = 0; n <= HM_DAMON_THREADS; n++)
        assert_int_equal(hm_damon_wire_check_borrow(&message, good_borrow(n), &error), n > 0 ? 0 : -1);
    size_t right = good_borrow(3);
    for (size_t size = 0; size <= sizeof(message.borrow); size++)
        assert_int_equal(hm_damon_wire_check_borrow(&message, size, &error), size == right ? 0 : -1);
    assert_false(hm_damon_wire_is_borrow(&message, sizeof(message.head) - 1));
    assert_false(hm_damon_wire_is_borrow(&message, good_watch(1)));
}

static void refuses_what_lends_no_events(void **state)
{
    (void)state;
    memset(&message, 0, sizeof(message));
    message.lent.number[1] = 4095;
    size_t size = hm_damon_wire_begin(&message, HM_DAMON_LENT, 7, 2);
    assert_int_equal(hm_damon_wire_check_lent(&message, size, &error), 0);
    assert_int_equal(hm_damon_wire_check_lent(&message, size - 1, &error), -1);
    assert_int_equal(hm_damon_wire_check_reply(&message, size, &error), -1);
    message.lent.number[1] = 4096;
    assert_int_equal(hm_damon_wire_check_lent(&message, size, &error), -1);
    assert_int_equal(hm_damon_wire_check_lent(&message, hm_damon_wire_begin(&message, HM_DAMON_LENT, 7, 0), &error),
                     -1);
    size = good_list(2);
    assert_int_equal(hm_damon_wire_check_lent(&message, size, &error), -1);
    size = hm_damon_wire_begin(&message, HM_DAMON_ANSWER, 7, 0);
    message.answer.number = EPERM;
    message.answer.text[0] = '\0';
    assert_int_equal(hm_damon_wire_check_lent(&message, size, &error), -1);
    message.answer.text[0] = 'x';
    message.answer.text[1] = '\0';
    assert_int_equal(hm_damon_wire_check_lent(&message, size, &error), 0);
}

static void each_side_refuses_its_own_kind(void **state)
{
    (void)state;
    size_t size = good_watch(2);
    assert_int_equal(hm_damon_wire_check_reply(&message, size, &error), -1);
    size = good_list(2);
    assert_int_equal(hm_damon_wire_check_watch(&message, size, &error), -1);
}

static void region_backwards(void)
{
    message.list.region[1].end = message.list.region[1].start;
}

static void region_overlaps(void)
{
    message.list.region[1].start--;
}

static void region_too_high(void)
{
    message.list.region[2].end = UINT64_MAX;
}

static void way_unknown(void)
{
    message.list.way = HM_DAMON_BURSTS + 1;
}

static void no_looks(void)
{
    message.list.region[1].looks = message.list.region[1].accesses = 0;
}

static void more_than_looks(void)
{
    message.list.region[1].accesses++;
}

static void no_span(void)
{
    message.list.span_ms = 0;
}

static void no_time_between_looks(void)
{
    message.list.region[1].look_us = 0;
}

static void process_unknown(void)
{
    message.list.process = HM_DAMON_TARGETS;
}

static void refuses_bad_lists(void **state)
{
    (void)state;
    void (*const spoil[])(void) = {region_backwards, region_overlaps, region_too_high,
                                   way_unknown,      more_than_looks, no_looks,
                                   process_unknown,  no_span,         no_time_between_looks};
    for (size_t i = 0; i < N_ROWS(spoil); i++) {
        size_t size = good_list(3);
        assert_int_equal(hm_damon_wire_check_reply(&message, size, &error), 0);
        spoil[i]();
        assert_int_equal(hm_damon_wire_check_reply(&message, size, &error), -1);
        assert_int_equal(errno, EBADMSG);
    }
}

static void an_answers_text_goes_with_its_number(void **state)
{
    (void)state;
    static const struct {
        uint32_t number;
        const char *text;
        int result;
    } rows[] = {{0, "", 0}, {EBUSY, "why", 0}, {EBUSY, "", -1}, {0, "why", -1}};
    size_t size = 0;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        memset(&message, 0, sizeof(message));
        size = hm_damon_wire_begin(&message, HM_DAMON_ANSWER, 1, 0);
        message.answer.number = rows[i].number;
        strncpy(message.answer.text, rows[i].text, sizeof(message.answer.text) - 1);
        assert_int_equal(hm_damon_wire_check_reply(&message, size, &error), rows[i].result);
    }
    message.answer.number = EBUSY;
    memset(message.answer.text, 'x', sizeof(message.answer.text));
    assert_int_equal(hm_damon_wire_check_reply(&message, size, &error), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_bad_watches),
        cmocka_unit_test(refuses_every_wrong_size),
        cmocka_unit_test(takes_watches_of_every_length),
        cmocka_unit_test(refuses_bad_questions_for_events),
        cmocka_unit_test(refuses_what_lends_no_events),
        cmocka_unit_test(each_side_refuses_its_own_kind),
        cmocka_unit_test(refuses_bad_lists),
        cmocka_unit_test(an_answers_text_goes_with_its_number),
    };
    return RUN_WITH_BOTH_SIZES(tests);
}
