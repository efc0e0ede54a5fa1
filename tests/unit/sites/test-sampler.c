/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what is said where samples are not taken at the rate that was asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sites/record/sampler.h"
#include "unit/lib/rows.h"

static const struct {
    uint64_t asked;
    struct hm_source_state state;
    const char *why;
} rows[] = {
    {0, {.name = "clock", .is_time = true, .period = 1000}, ""},
    {0, {.name = "perf", .period = 9000, .unit = 4096}, ""},
    {4096, {.name = "perf", .period = 4096, .unit = 4096}, ""},
    {4096, {.name = ""}, "nothing is sampled here"},
    {4096,
     {.name = "clock", .is_time = true, .period = 4096},
     "the source clock samples by time, and has no rate of accesses"},
    {4000, {.name = "perf", .period = 4096, .unit = 4096}, "the source perf has 1/4096 as the nearest rate"},
    {4096,
     {.name = "perf", .period = 8192, .unit = 4096},
     "1/8192 in the end: finer sampling would cost more than the overhead"},
};

static void test_why_a_rate_is_another(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_sampler sampler = {.period = rows[i].asked, .state = rows[i].state};
        char why[HM_SAMPLER_RATE];
        hm_sampler_explain_rate(&sampler, why);
        assert_string_equal(why, rows[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_why_a_rate_is_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
