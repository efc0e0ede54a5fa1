/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the parsers of numbers, sizes, times, percentages and amounts with a unit, and how sizes are written. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/size.h"
#include "unit/lib/rows.h"

/* Check that the error quotes the wrong value and says what would be right. */
static void assert_says(const struct hm_error *error, const char *value, const char *right)
{
    char quoted[80];
    snprintf(quoted, sizeof(quoted), "\"%.40s\"", value);
    assert_non_null(strstr(error->text, quoted));
    assert_non_null(strstr(error->text, right));
}

static void test_sizes_refused(void **state)
{
    static const struct {
        const char *text;
        int number;
    } rows[] = {
        {"", EINVAL},
        {"K", EINVAL},
        {"17E", EINVAL},
        {"1P", EINVAL},
        {"1KB", EINVAL},
        {"1k", EINVAL},
        {"1KiB", EINVAL},
        {"-1", EINVAL},
        {"+1", EINVAL},
        {" 1", EINVAL},
        {"1 ", EINVAL},
        {"1 K", EINVAL},
        {"1.5G", EINVAL},
        {"0x10", EINVAL},
        {"1e3", EINVAL},
        {"1,5", EINVAL},
        {"18446744073709551616", ERANGE},
        {"16777216T", ERANGE},
        {"18014398509481984K", ERANGE},
        {"99999999999999999999999T", ERANGE},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {""};
        uint64_t bytes;
        assert_int_equal(hm_size_parse(rows[i].text, &bytes, &error), -1);
        assert_int_equal(errno, rows[i].number);
        assert_says(&error, rows[i].text, rows[i].number == ERANGE ? "below 2^64" : "write digits and K, M, G or T");
    }
}

static void test_sizes(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {
        {"0", 0},
        {"1", 1},
        {"007", 7},
        {"1K", 1024},
        {"3M", 3145728},
        {"64G", UINT64_C(68719476736)},
        {"2T", UINT64_C(2199023255552)},
        {"18446744073709551615", UINT64_MAX},
        {"16777215T", UINT64_C(16777215) << 40},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uint64_t bytes = 0;
        assert_int_equal(hm_size_parse(rows[i].text, &bytes, NULL), 0);
        assert_true(bytes == rows[i].bytes);
    }
}

static void test_numbers(void **state)
{
    static const char *const wrong[] = {"", "4", "11", "-5", "5 ", "5K", "five", "18446744073709551621"};
    struct hm_error error = {""};
    uint64_t number = 0;
    (void)state;
    for (size_t i = 0; i < N_ROWS(wrong); i++) {
        assert_int_equal(hm_size_parse_number(wrong[i], 5, 10, &number, &error), -1);
        assert_says(&error, wrong[i], "is not a number of 5 to 10");
    }
    assert_int_equal(hm_size_parse_number("5", 5, 10, &number, NULL), 0);
    assert_int_equal(number, 5);
    assert_int_equal(hm_size_parse_number("10", 5, 10, &number, NULL), 0);
    assert_int_equal(number, 10);
}

static void test_percent(void **state)
{
    static const char *const wrong[] = {"",    "%",    "2",      "2 %",  "-1%",  ".5%",         "2.%",
                                        "2%%", "2,5%", "100.1%", "101%", "1e1%", "1234567890%", "1.1234567890%"};
    static const struct {
        const char *text;
        double percent;
    } rows[] = {{"0%", 0}, {"2%", 2}, {"2.5%", 2.5}, {"0.05%", 0.05}, {"100%", 100}, {"100.0%", 100}};
    double percent;
    (void)state;
    for (size_t i = 0; i < N_ROWS(wrong); i++) {
        struct hm_error error = {""};
        assert_int_equal(hm_size_parse_percent(wrong[i], &percent, &error), -1);
        assert_says(&error, wrong[i], "%");
    }
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(hm_size_parse_percent(rows[i].text, &percent, NULL), 0);
        assert_float_equal(percent, rows[i].percent, 1e-9);
    }
}

static void test_amounts(void **state)
{
    static const char *const wrong[] = {"",     "W",    "2",     "2 W",  "-1W",         ".5W",           "2.W",  "2WW",
                                        "2,5W", "2.5w", "2.5mW", "1e1W", "1234567890W", "1.1234567890W", "2.5Wx"};
    static const struct {
        const char *text, *unit;
        double amount;
    } rows[] = {{"0W", "W", 0}, {"12.5W", "W", 12.5}, {"6.25pJ/bit", "pJ/bit", 6.25}, {"123456789W", "W", 123456789}};
    double amount;
    (void)state;
    for (size_t i = 0; i < N_ROWS(wrong); i++) {
        struct hm_error error = {""};
        assert_int_equal(hm_size_parse_amount(wrong[i], "W", &amount, &error), -1);
        assert_says(&error, wrong[i], "is not a number of W: write the number and W, as in 2.5W");
    }
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(hm_size_parse_amount(rows[i].text, rows[i].unit, &amount, NULL), 0);
        assert_float_equal(amount, rows[i].amount, 1e-9);
    }
}

static void test_durations(void **state)
{
    static const char *const wrong[] = {"",     "s",  "1m",   "1 s",  "-1s",
                                        "1.5s", "1S", "1sec", "1ms ", "18446744073709551615h"};
    static const struct {
        const char *text;
        uint64_t milliseconds;
    } rows[] = {{"0s", 0}, {"250ms", 250}, {"1s", 1000}, {"10min", 600000}, {"2h", 7200000}};
    static const struct {
        const char *text, *said;
    } unitless[] = {{"1", "has no unit: write ms, s, min or h after it, as in 10s"},
                    {"0", "has no unit: write ms, s, min or h after it, as in 10s"}};
    uint64_t milliseconds;
    (void)state;
    for (size_t i = 0; i < N_ROWS(wrong); i++) {
        struct hm_error error = {""};
        assert_int_equal(hm_size_parse_duration(wrong[i], &milliseconds, &error), -1);
        assert_says(&error, wrong[i], "time");
    }
    for (size_t i = 0; i < N_ROWS(unitless); i++) {
        struct hm_error error = {""};
        assert_int_equal(hm_size_parse_duration(unitless[i].text, &milliseconds, &error), -1);
        assert_says(&error, unitless[i].text, unitless[i].said);
    }
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(hm_size_parse_duration(rows[i].text, &milliseconds, NULL), 0);
        assert_int_equal(milliseconds, rows[i].milliseconds);
    }
}

static void test_format(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *shown;
    } rows[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {1536, "1.5 KiB"},
        {1048575, "1.0 MiB"},
        {UINT64_C(180388626432), "168.0 GiB"},
        {UINT64_C(1) << 40, "1.0 TiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    char text[24];
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++)
        assert_string_equal(hm_size_format(rows[i].bytes, text, sizeof(text)), rows[i].shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_refused), cmocka_unit_test(test_sizes),   cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_percent),       cmocka_unit_test(test_amounts), cmocka_unit_test(test_durations),
        cmocka_unit_test(test_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
