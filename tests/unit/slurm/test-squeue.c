/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how squeue's answers whether a job runs are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "slurm/squeue.h"
#include "unit/lib/rows.h"

static void test_who_runs(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int is_running;
    } rows[] = {
        {"12 RUNNING\n", 1},
        {"12 SUSPENDED\n", 1},
        {"12 COMPLETING\n", 1},
        {"12 PENDING\n", 0}, /* it was requeued, and runs nowhere */
        {"12 REQUEUE_HOLD\n", 0},
        {"12 SPECIAL_EXIT\n", 0},
        {"12 NODE_FAIL\n", 0},
        {"", 0},
        {"\n", 0},
        {"13 RUNNING\n14 PENDING\n12 RUNNING\n", 1}, /* tasks of an array */
        {"13 RUNNING\n112 RUNNING\n", 0},
        {"12\n", 0},
        {"12 running\n", 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++)
        if (hm_squeue_parse(rows[i].text, 12) != rows[i].is_running)
            fail_msg("\"%s\"", rows[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_who_runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
