/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how squeue's answers whether a job runs are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

static void test_qos(void **state)
{
    (void)state;
    static const struct {
        const char *text, *qos; /* NULL: it is not known */
    } rows[] = {
        {"12 normal\n", "normal"},
        {"12 a-b_c.d \n", "a-b_c.d"},
        {"11 low\n12 high\n13 low\n", "high"}, /* tasks of an array */
        {"112 low\n", NULL},
        {"12\n13 low\n", NULL},
        {"12 \n", NULL},
        {"12 (null)\n", NULL}, /* no accounting */
        {"12 sixteencharacter\n", NULL},
        {"", NULL},
        {"slurm_load_jobs error: Invalid job id specified\n", NULL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char qos[16] = "";
        int result = hm_squeue_parse_qos(rows[i].text, 12, qos, sizeof(qos), NULL);
        if (result != (rows[i].qos ? 0 : -1) || (rows[i].qos && strcmp(qos, rows[i].qos) != 0))
            fail_msg("\"%s\": \"%s\"", rows[i].text, qos);
    }
}

static void test_who_waits_for_a_boot(void **state)
{
    (void)state;
    static const struct {
        const char *text, *comment; /* NULL: there is no job */
    } rows[] = {
        {"12                                                                          \n", ""},
        {"12          \n", ""},
        {"12          (null)                                                          \n", ""},
        {"12          (null) and more                                                 \n", "(null) and m"},
        {"12          a comment of the site's                                         \n", "a comment of"},
        {"12          hybridmem: n                                                    \n", "hybridmem: n"},
        {"", NULL},
        {"\n", NULL},
        {"slurm_load_jobs error: Unable to contact slurm controller\n", NULL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char comment[13] = "";
        uint32_t job_id = 0;
        int found = hm_squeue_parse_comment(rows[i].text, &job_id, comment, sizeof(comment));
        if (found != (rows[i].comment ? 1 : 0) || (found && (job_id != 12 || strcmp(comment, rows[i].comment) != 0)))
            fail_msg("\"%s\": %d, \"%s\"", rows[i].text, found, comment);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_who_runs), cmocka_unit_test(test_qos),
                                       cmocka_unit_test(test_who_waits_for_a_boot)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
