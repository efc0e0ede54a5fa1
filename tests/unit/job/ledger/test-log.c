/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which level a line of hybridmem-job's log has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "job/ledger/log.h"

static void test_levels_of_lines_for_the_log(void **state)
{
    (void)state;
    const char *text;
    assert_int_equal(hm_log_parse("warning: low", &text), HM_LOG_WARNING);
    assert_string_equal(text, "low");
    assert_int_equal(hm_log_parse("info: x", &text), HM_LOG_INFO);
    assert_int_equal(hm_log_parse("a library's own words", &text), HM_LOG_ERROR);
    assert_string_equal(text, "a library's own words");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels_of_lines_for_the_log)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
