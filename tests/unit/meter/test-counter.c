/* SPDX-License-Identifier: Apache-2.0 */
/* Tests differences of a counter's raw values. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "meter/count/counter.h"
#include "meter/count/total.h"
#include "unit/lib/rows.h"

#define SECOND UINT64_C(1000000000)
#define RAPL (UINT64_C(262143328850) + 1) /* the range of a Xeon's counter, in microjoules */
#define WATTS 2e9                         /* 2000 W in microjoules per second */

static void test_difference_or_a_named_state(void **state)
{
    static const struct {
        uint64_t modulus;
        double most_per_s;
        uint64_t last, raw, seconds;
        enum hm_counter_state state;
        uint64_t difference;
    } rows[] = {
        /* the counter went further than is possible */
        {RAPL, WATTS, 1000, 1000 + 2200000001, 1, HM_COUNTER_RESET, 0},
        {0, 100, 0, 111, 1, HM_COUNTER_RESET, 0},
        /* it went back, and had no time to wrap */
        {RAPL, WATTS, 1000, 999, 1, HM_COUNTER_RESET, 0},
        {RAPL, WATTS, 100000000000, 0, 1, HM_COUNTER_RESET, 0},
        /* it had time for a whole wrap */
        {RAPL, WATTS, 1000, 2000, 132, HM_COUNTER_AMBIGUOUS, 0},
        {RAPL, WATTS, 2000, 1000, 132, HM_COUNTER_AMBIGUOUS, 0},
        /* it went back, and never wraps */
        {0, 0, 5, 4, 1, HM_COUNTER_RESET, 0},
        {0, 0, UINT64_MAX, 0, 1, HM_COUNTER_RESET, 0},
        /* not a valid value */
        {RAPL, WATTS, 1000, RAPL, 1, HM_COUNTER_UNREADABLE, 0},
        {RAPL, WATTS, 1000, UINT64_MAX, 1, HM_COUNTER_UNREADABLE, 0},
        {16, 0, 15, 16, 1, HM_COUNTER_UNREADABLE, 0},
        /* counted */
        {RAPL, WATTS, 1000, 1000, 1, HM_COUNTER_VALID, 0},
        {RAPL, WATTS, 1000, 1000 + 2200000000, 1, HM_COUNTER_VALID, 2200000000},
        {RAPL, WATTS, 1000, 2000, 130, HM_COUNTER_VALID, 1000},
        {RAPL, WATTS, RAPL - 1, 0, 1, HM_COUNTER_VALID, 1},
        {RAPL, WATTS, RAPL - 5, 7, 1, HM_COUNTER_VALID, 12},
        {RAPL, WATTS, 262143328850, 262143328850, 1, HM_COUNTER_VALID, 0},
        {16, 0, 15, 14, 1, HM_COUNTER_VALID, 15},
        {UINT64_C(1) << 48, 0, (UINT64_C(1) << 48) - 1, 1, 1, HM_COUNTER_VALID, 2},
        {0, 0, 0, UINT64_MAX, 1, HM_COUNTER_VALID, UINT64_MAX},
        {0, 0, UINT64_MAX, UINT64_MAX, 1, HM_COUNTER_VALID, 0},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_counter counter = {.modulus = rows[i].modulus, .most_per_s = rows[i].most_per_s};
        uint64_t difference = 77;
        assert_int_equal(hm_counter_take(&counter, rows[i].last, SECOND, &difference), HM_COUNTER_FIRST);
        assert_int_equal(difference, 0);
        difference = 77;
        assert_int_equal(hm_counter_take(&counter, rows[i].raw, SECOND + rows[i].seconds * SECOND, &difference),
                         rows[i].state);
        assert_int_equal(difference, rows[i].difference);
    }
}

static void test_the_next_difference_begins_where_the_last_ended(void **state)
{
    static const struct {
        uint64_t raw;
        enum hm_counter_state state;
        uint64_t difference;
    } rows[] = {
        {90, HM_COUNTER_FIRST, 0},       {95, HM_COUNTER_VALID, 5}, {5, HM_COUNTER_VALID, 10},
        {5, HM_COUNTER_VALID, 0},        {60, HM_COUNTER_RESET, 0}, {61, HM_COUNTER_VALID, 1},
        {100, HM_COUNTER_UNREADABLE, 0}, {62, HM_COUNTER_FIRST, 0}, {64, HM_COUNTER_VALID, 2},
    };
    struct hm_counter counter = {.modulus = 100, .most_per_s = 20};
    uint64_t difference;
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(hm_counter_take(&counter, rows[i].raw, i * SECOND, &difference), rows[i].state);
        assert_int_equal(difference, rows[i].difference);
    }
}

static void test_what_cannot_be_read_has_a_name_and_no_past(void **state)
{
    static const struct {
        int number;
        enum hm_counter_state state;
    } rows[] = {{ENOENT, HM_COUNTER_VANISHED},  {ENODEV, HM_COUNTER_VANISHED}, {ENXIO, HM_COUNTER_VANISHED},
                {EACCES, HM_COUNTER_FORBIDDEN}, {EPERM, HM_COUNTER_FORBIDDEN}, {EBADMSG, HM_COUNTER_UNREADABLE},
                {EBUSY, HM_COUNTER_TAKEN},      {EIO, HM_COUNTER_UNREADABLE},  {ENODATA, HM_COUNTER_UNREADABLE}};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_counter counter = {.modulus = 100};
        uint64_t difference;
        hm_counter_take(&counter, 10, SECOND, &difference);
        assert_int_equal(hm_counter_lose(&counter, rows[i].number), rows[i].state);
        assert_int_equal(hm_counter_take(&counter, 20, 2 * SECOND, &difference), HM_COUNTER_FIRST);
        assert_int_equal(difference, 0);
        assert_int_equal(hm_counter_take(&counter, 21, 3 * SECOND, &difference), HM_COUNTER_VALID);
        assert_int_equal(difference, 1);
    }
}

static void test_each_state_has_a_text_of_its_own(void **state)
{
    (void)state;
    for (int i = HM_COUNTER_VALID; i <= HM_COUNTER_AMBIGUOUS; i++)
        for (int j = HM_COUNTER_VALID; j < i; j++)
            assert_string_not_equal(hm_counter_state_text((enum hm_counter_state)i),
                                    hm_counter_state_text((enum hm_counter_state)j));
}

static void test_a_total_is_known_only_as_a_whole(void **state)
{
    struct hm_total total = {0}, sum = {0}, none = {0};
    (void)state;
    assert_false(hm_total_is_known(&total));
    hm_total_add(&total, HM_COUNTER_VALID, 1000000, 1e-6);
    hm_total_add(&total, HM_COUNTER_VALID, 500000, 1e-6);
    assert_true(hm_total_is_known(&total));
    assert_true(total.amount > 1.4999999 && total.amount < 1.5000001);
    hm_total_join(&sum, &total);
    hm_total_join(&sum, &total);
    assert_true(hm_total_is_known(&sum) && sum.amount > 2.9999999 && sum.amount < 3.0000001);

    hm_total_add(&total, HM_COUNTER_VANISHED, 0, 1e-6);
    hm_total_add(&total, HM_COUNTER_FIRST, 0, 1e-6);
    hm_total_add(&total, HM_COUNTER_VALID, 1, 1e-6);
    assert_false(hm_total_is_known(&total));
    assert_int_equal(total.problem, HM_COUNTER_VANISHED);
    hm_total_join(&sum, &total);
    assert_false(hm_total_is_known(&sum));
    assert_int_equal(sum.problem, HM_COUNTER_VANISHED);

    sum = (struct hm_total){.amount = 1, .n = 1};
    hm_total_join(&sum, &none);
    assert_false(hm_total_is_known(&sum));
    assert_int_equal(sum.problem, HM_COUNTER_FIRST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_difference_or_a_named_state),
        cmocka_unit_test(test_the_next_difference_begins_where_the_last_ended),
        cmocka_unit_test(test_what_cannot_be_read_has_a_name_and_no_past),
        cmocka_unit_test(test_each_state_has_a_text_of_its_own),
        cmocka_unit_test(test_a_total_is_known_only_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
