/* SPDX-License-Identifier: Apache-2.0 */
/* Tests whether a job shares its node with other jobs, or has shared it, as the ledger tells. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "job/node/company.h"
#include "unit/job/freshledger.h"
#include "unit/lib/scratch.h"

static struct hm_config config;
static struct hm_error error;
static struct hm_job earlier, job;

/* A ledger with job 7. None of its steps has run, so its cgroup is not known, and it counts as living. */
static int fresh(void **state)
{
    (void)state;
    ledger_with_job(&config, &earlier);
    hm_job_init(&job, 8);
    return 0;
}

static int note(void)
{
    struct hm_lives lives;
    hm_lives_look(&config, &lives);
    int lock = hm_ledger_lock(&config, NULL);
    assert_true(lock >= 0);
    int result = hm_company_note(&config, &lives, &job, &error);
    hm_ledger_unlock(lock);
    hm_lives_free(&lives);
    return result;
}

static bool is_alone(const struct hm_set *all_cores)
{
    struct hm_lives lives;
    hm_lives_look(&config, &lives);
    bool is_alone = hm_company_is_alone(&config, &lives, &job, all_cores);
    hm_lives_free(&lives);
    return is_alone;
}

static bool earlier_had_company(void)
{
    assert_int_equal(hm_ledger_read(&config, 7, &earlier, &error), 0);
    return earlier.had_company;
}

static void test_alone(void **state)
{
    (void)state;
    ledger_empty(&config);
    assert_int_equal(note(), 0);
    assert_false(job.had_company);
    /* A job's own entry, from an earlier prolog, is no company. */
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    assert_int_equal(note(), 0);
    assert_false(job.had_company);
}

static void test_both_are_marked(void **state)
{
    (void)state;
    assert_false(earlier_had_company());
    assert_int_equal(note(), 0);
    assert_true(job.had_company);
    assert_true(earlier_had_company());
}

/* A dead job is no company. But a job that has had company keeps its mark (`had_company`) after the other job's end. */
static void test_the_dead_are_no_company(void **state)
{
    (void)state;
    snprintf(earlier.cgroup, sizeof(earlier.cgroup), "%s/removed", scratch);
    assert_int_equal(hm_ledger_write(&config, &earlier, &error), 0);
    assert_int_equal(note(), 0);
    assert_false(job.had_company);
    assert_false(earlier_had_company());
    job.had_company = true;
    assert_int_equal(note(), 0);
    assert_true(job.had_company);
}

static void test_what_cannot_be_read_may_live(void **state)
{
    (void)state;
    scratch_write(scratch_path("run/jobs/9"), "torn");
    assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
    assert_int_equal(note(), 0);
    assert_true(job.had_company);
}

/* The other job's entry cannot be written, as a folder is in the place of its draft. */
static void test_a_failure_counts_as_company(void **state)
{
    (void)state;
    assert_int_equal(mkdir(scratch_path("run/jobs/7.draft"), 0700), 0);
    assert_int_equal(note(), -1);
    assert_true(job.had_company);
    assert_non_null(strstr(error.text, "job 7"));
}

static void test_who_has_the_node(void **state)
{
    (void)state;
    struct hm_set all;
    ledger_empty(&config);
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    assert_int_equal(hm_set_parse(&all, "0-3", NULL), 0);
    assert_false(is_alone(&all)); /* cores not known */
    job.has_cores = true;
    assert_int_equal(hm_set_parse(&job.cores, "0-2", NULL), 0);
    assert_false(is_alone(&all));
    assert_int_equal(hm_set_parse(&job.cores, "0-3", NULL), 0);
    assert_true(is_alone(&all));

    assert_int_equal(hm_ledger_write(&config, &earlier, &error), 0);
    assert_false(is_alone(&all));
    snprintf(earlier.cgroup, sizeof(earlier.cgroup), "%s/removed", scratch);
    assert_int_equal(hm_ledger_write(&config, &earlier, &error), 0);
    assert_true(is_alone(&all));
    scratch_write(scratch_path("run/jobs/9"), "an entry that nobody can read");
    assert_false(is_alone(&all));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_alone, fresh),
        cmocka_unit_test_setup(test_both_are_marked, fresh),
        cmocka_unit_test_setup(test_the_dead_are_no_company, fresh),
        cmocka_unit_test_setup(test_what_cannot_be_read_may_live, fresh),
        cmocka_unit_test_setup(test_a_failure_counts_as_company, fresh),
        cmocka_unit_test_setup(test_who_has_the_node, fresh),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
