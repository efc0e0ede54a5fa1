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
#include "unit/lib/rows.h"
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

static bool earlier_had_company(void)
{
    assert_int_equal(hm_ledger_read(&config, 7, &earlier, &error), 0);
    return earlier.had_company;
}

static void test_alone(void **state)
{
    (void)state;
    ledger_empty(&config);
    assert_int_equal(hm_company_note(&config, &job, &error), 0);
    assert_false(job.had_company);
    /* A job's own entry, from an earlier prolog, is no company. */
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    assert_int_equal(hm_company_note(&config, &job, &error), 0);
    assert_false(job.had_company);
}

static void test_both_are_marked(void **state)
{
    (void)state;
    assert_false(earlier_had_company());
    assert_int_equal(hm_company_note(&config, &job, &error), 0);
    assert_true(job.had_company);
    assert_true(earlier_had_company());
}

/*
 * A job that is over is no company; one without a process is, as it may run. A job that has had company keeps its mark
 * (`had_company`) after the other job's end.
 */
static void test_those_that_are_over_are_no_company(void **state)
{
    static const struct {
        int64_t end_ns, dead_ns;
        bool has_ended, is_of_earlier_boot, is_company;
    } rows[] = {{0, 0, false, false, true},
                {0, 5, false, false, true},
                {5, 5, false, false, false},
                {0, 0, true, false, false},
                {0, 0, false, true, false}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(fresh(state), 0);
        snprintf(earlier.cgroup, sizeof(earlier.cgroup), "%s/removed", scratch);
        earlier.end_ns = rows[i].end_ns;
        earlier.dead_ns = rows[i].dead_ns;
        earlier.has_ended = rows[i].has_ended;
        if (rows[i].is_of_earlier_boot)
            snprintf(earlier.boot_id, sizeof(earlier.boot_id), "another boot");
        assert_int_equal(hm_ledger_write(&config, &earlier, &error), 0);
        assert_int_equal(hm_company_note(&config, &job, &error), 0);
        assert_int_equal(job.had_company, rows[i].is_company);
        assert_int_equal(earlier_had_company(), rows[i].is_company);
        job.had_company = true;
        assert_int_equal(hm_company_note(&config, &job, &error), 0);
        assert_true(job.had_company);
    }
}

static void test_what_cannot_be_read_may_live(void **state)
{
    (void)state;
    scratch_write(scratch_path("run/jobs/9"), "torn");
    assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
    assert_int_equal(hm_company_note(&config, &job, &error), 0);
    assert_true(job.had_company);
}

/* The other job's entry cannot be written, as a folder is in the place of its draft. */
static void test_a_failure_counts_as_company(void **state)
{
    (void)state;
    assert_int_equal(mkdir(scratch_path("run/jobs/7.draft"), 0700), 0);
    assert_int_equal(hm_company_note(&config, &job, &error), -1);
    assert_true(job.had_company);
    assert_non_null(strstr(error.text, "job 7"));
}

static void test_who_has_the_node(void **state)
{
    (void)state;
    ledger_empty(&config);
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    assert_false(hm_company_is_alone(&config, &job, 4)); /* cores not known */
    job.has_cores = true;
    assert_int_equal(hm_set_parse(&job.cores, "0-2", NULL), 0);
    assert_false(hm_company_is_alone(&config, &job, 4));
    assert_int_equal(hm_set_parse(&job.cores, "0-3", NULL), 0);
    assert_true(hm_company_is_alone(&config, &job, 4));
    assert_int_equal(hm_set_parse(&job.cores, "2-5", NULL), 0); /* 0 and 1 are specialized */
    assert_true(hm_company_is_alone(&config, &job, 4));
    assert_false(hm_company_is_alone(&config, &job, 0)); /* Slurm has not answered */

    assert_int_equal(hm_ledger_write(&config, &earlier, &error), 0);
    assert_false(hm_company_is_alone(&config, &job, 4));
    earlier.has_ended = true;
    assert_int_equal(hm_ledger_write(&config, &earlier, &error), 0);
    assert_true(hm_company_is_alone(&config, &job, 4));
    scratch_write(scratch_path("run/jobs/9"), "an entry that nobody can read");
    assert_false(hm_company_is_alone(&config, &job, 4));
}

/* The other job is marked once; its entry is not written again. */
static void test_a_job_without_an_entry_passes(void **state)
{
    (void)state;
    struct hm_set all;
    ledger_empty(&config);
    assert_int_equal(hm_company_pass(&config, 8, &error), 0);
    earlier.has_cores = true;
    assert_int_equal(hm_set_parse(&all, "0-3", NULL), 0);
    earlier.cores = all;
    assert_int_equal(hm_ledger_write(&config, &earlier, &error), 0);
    assert_int_equal(hm_company_pass(&config, 7, &error), 0); /* a job is no company for itself */
    assert_true(hm_company_is_alone(&config, &earlier, 4));
    assert_int_equal(hm_company_pass(&config, 8, &error), 0);
    assert_true(earlier_had_company());
    assert_false(hm_company_is_alone(&config, &earlier, 4));
    assert_int_equal(mkdir(scratch_path("run/jobs/7.draft"), 0700), 0); /* from here on it cannot be written */
    assert_int_equal(hm_company_pass(&config, 8, &error), 0);
    assert_int_equal(rmdir(scratch_path("run/jobs/7.draft")), 0);
    earlier.has_strangers = false;
    earlier.has_ended = true;
    assert_int_equal(hm_ledger_write(&config, &earlier, &error), 0);
    assert_int_equal(hm_company_pass(&config, 8, &error), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &earlier, &error), 0);
    assert_false(earlier.has_strangers);
}

/* The prolog has found a job without an entry (hooks/strangers.h). */
static void test_a_stranger_is_company(void **state)
{
    (void)state;
    ledger_empty(&config);
    job.has_strangers = true;
    assert_int_equal(hm_company_note(&config, &job, &error), 0);
    assert_true(job.had_company);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_alone, fresh),
        cmocka_unit_test_setup(test_both_are_marked, fresh),
        cmocka_unit_test_setup(test_those_that_are_over_are_no_company, fresh),
        cmocka_unit_test_setup(test_what_cannot_be_read_may_live, fresh),
        cmocka_unit_test_setup(test_a_failure_counts_as_company, fresh),
        cmocka_unit_test_setup(test_who_has_the_node, fresh),
        cmocka_unit_test_setup(test_a_job_without_an_entry_passes, fresh),
        cmocka_unit_test_setup(test_a_stranger_is_company, fresh),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
