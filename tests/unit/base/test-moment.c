/* SPDX-License-Identifier: Apache-2.0 */
/* Tests moments as text, such as 2026-11-29T20:11:00Z. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/moment.h"
#include "unit/lib/rows.h"

static void test_what_is_no_moment(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "soon",
                                        "2026-11-29",
                                        "2026-11-29T20:11:00",
                                        "2026-11-29T20:11:00Z ",
                                        " 2026-11-29T20:11:00Z",
                                        "2026-11-29t20:11:00Z",
                                        "2026-11-29T20:11:00.000Z",
                                        "2026-11-29T20:11:00+00:00",
                                        "2026-02-30T20:11:00Z",
                                        "2026-11-29T24:00:00Z",
                                        "2026-1-29T20:11:00Z",
                                        "1969-12-31T23:59:59Z",
                                        "12026-11-29T20:11:00Z"};
    int64_t seconds;
    char text[HM_MOMENT];
    for (size_t i = 0; i < N_ROWS(texts); i++) {
        errno = 0;
        if (hm_moment_parse(texts[i], &seconds) == 0 || errno != EINVAL)
            fail_msg("\"%s\" is not refused with EINVAL", texts[i]);
    }
    assert_string_equal(hm_moment_format(-1, text), "");
    assert_string_equal(hm_moment_format(INT64_C(253402300800), text), ""); /* the year 10000 */
    assert_string_equal(hm_moment_format(INT64_MAX, text), "");
}

static void test_moments_are_in_utc(void **state)
{
    (void)state;
    static const struct {
        int64_t seconds;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00Z"},
        {1795983060, "2026-11-29T20:11:00Z"},
        {1709164800, "2024-02-29T00:00:00Z"},
        {253402300799, "9999-12-31T23:59:59Z"},
    };
    assert_int_equal(setenv("TZ", "Asia/Kathmandu", 1), 0);
    tzset();
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        int64_t seconds;
        char text[HM_MOMENT];
        assert_string_equal(hm_moment_format(rows[i].seconds, text), rows[i].text);
        assert_int_equal(hm_moment_parse(text, &seconds), 0);
        assert_int_equal(seconds, rows[i].seconds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_no_moment),
        cmocka_unit_test(test_moments_are_in_utc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
