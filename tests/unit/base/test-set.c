/* SPDX-License-Identifier: Apache-2.0 */
/* Tests sets of numbers, and their list format. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/set.h"
#include "unit/lib/rows.h"

static void test_parse_refuses(void **state)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        {",", "\"\""},
        {"0,", "\"\""},
        {",0", "\"\""},
        {"0,,1", "\"\""},
        {"a", "\"a\""},
        {"0-", "\"0-\""},
        {"-1", "\"-1\""},
        {"3-1", "\"3-1\""},
        {"0-1-2", "\"0-1-2\""},
        {"1 ", "\"1 \""},
        {" 1", "\" 1\""},
        {"0x1", "\"0x1\""},
        {"+1", "\"+1\""},
        {"0-3:2", "\"0-3:2\""},
        {"8192", "\"8192\""},
        {"0-8192", "8192\""},
        {"99999999999999999999", "9999"},
        {"1\n", "\"1\\n\""},
        {"0-3,x", "\"x\""},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_set set;
        struct hm_error error = {""};
        errno = 0;
        assert_int_equal(hm_set_parse(&set, rows[i].text, &error), -1);
        assert_int_equal(errno, EINVAL);
        assert_non_null(strstr(error.text, rows[i].part));
        assert_non_null(strstr(error.text, "write a list like 0-3,8"));
        assert_true(hm_set_is_empty(&set));
        assert_int_equal(hm_set_parse(&set, rows[i].text, NULL), -1);
    }
}

static void test_parse_and_format(void **state)
{
    static const struct {
        const char *text, *shown;
        unsigned count;
    } rows[] = {
        {"", "", 0},           {"0", "0", 1},       {"0-3", "0-3", 4},          {"3,2,1", "1-3", 3},
        {"1,1", "1", 1},       {"5-5", "5", 1},     {"0,2,4", "0,2,4", 3},      {"0-63", "0-63", 64},
        {"62-65", "62-65", 4}, {"8191", "8191", 1}, {"0-8191", "0-8191", 8192}, {"007", "7", 1},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_set set, again;
        char text[64];
        assert_int_equal(hm_set_parse(&set, rows[i].text, NULL), 0);
        assert_int_equal(hm_set_count(&set), rows[i].count);
        assert_string_equal(hm_set_format(&set, text, sizeof(text)), rows[i].shown);
        assert_int_equal(hm_set_parse(&again, text, NULL), 0);
        assert_true(hm_set_equal(&set, &again));
    }
}

static void test_format_of_what_does_not_fit(void **state)
{
    static const struct {
        size_t size;
        const char *shown;
    } rows[] = {{1, ""}, {2, "."}, {4, "..."}, {5, "0..."}, {7, "0,2..."}, {9, "0,2,4..."}, {10, "0,2,4,6-8"}};
    struct hm_set set;
    char text[64];
    (void)state;
    assert_int_equal(hm_set_parse(&set, "0,2,4,6-8", NULL), 0);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        memset(text, 'x', sizeof(text));
        assert_string_equal(hm_set_format(&set, text, rows[i].size), rows[i].shown);
        assert_int_equal(text[rows[i].size], 'x');
    }
    memset(text, 'x', sizeof(text));
    hm_set_format(&set, text, 0);
    assert_int_equal(text[0], 'x');
}

static struct hm_set set_of(const char *text)
{
    struct hm_set set;
    assert_int_equal(hm_set_parse(&set, text, NULL), 0);
    return set;
}

static void test_operations(void **state)
{
    struct hm_set a = set_of("0-3,64"), b = set_of("2-5"), inner = set_of("64"), none = set_of("");
    struct hm_set wanted = set_of("0-5,64"), both = a;
    (void)state;
    hm_set_union(&both, &b);
    assert_true(hm_set_equal(&both, &wanted));
    both = a;
    hm_set_intersect(&both, &b);
    wanted = set_of("2-3");
    assert_true(hm_set_equal(&both, &wanted));
    both = a;
    hm_set_subtract(&both, &b);
    wanted = set_of("0-1,64");
    assert_true(hm_set_equal(&both, &wanted));
    assert_true(hm_set_intersects(&a, &b));
    assert_false(hm_set_intersects(&b, &inner));
    assert_false(hm_set_intersects(&a, &none));
    assert_true(hm_set_within(&inner, &a));
    assert_true(hm_set_within(&none, &a));
    assert_false(hm_set_within(&a, &inner));
    hm_set_remove(&a, 64);
    assert_false(hm_set_has(&a, 64));
    assert_true(hm_set_has(&a, 3));
}

static void test_out_of_range(void **state)
{
    struct hm_set set = set_of(""), before = set;
    (void)state;
    hm_set_add(&set, HM_SET_BITS);
    hm_set_add(&set, UINT32_MAX);
    hm_set_remove(&set, HM_SET_BITS);
    assert_true(hm_set_equal(&set, &before));
    assert_false(hm_set_has(&set, HM_SET_BITS));
    assert_int_equal(hm_set_next(&set, 0), -1);
    assert_int_equal(hm_set_next(&set, UINT32_MAX), -1);
    hm_set_add(&set, HM_SET_BITS - 1);
    assert_int_equal(hm_set_next(&set, 0), HM_SET_BITS - 1);
    assert_int_equal(hm_set_next(&set, HM_SET_BITS), -1);
}

static void test_next_visits_each_once(void **state)
{
    struct hm_set set = set_of("0,63-65,127,8190");
    static const int wanted[] = {0, 63, 64, 65, 127, 8190};
    size_t n = 0;
    (void)state;
    for (int member = hm_set_next(&set, 0); member >= 0; member = hm_set_next(&set, (unsigned)member + 1))
        assert_int_equal(member, wanted[n++]);
    assert_int_equal(n, N_ROWS(wanted));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_refuses),
        cmocka_unit_test(test_parse_and_format),
        cmocka_unit_test(test_format_of_what_does_not_fit),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_next_visits_each_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
