/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what a step writes into the ledger's entry of its job, and what it does where it cannot read or write one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/files.h"
#include "stepfixture.h"
#include "unit/job/freshledger.h"
#include "unit/lib/scratch.h"

int __wrap_hm_cgroup_of_self(char *out, size_t size);

/* This process is in no cgroup of a step, as slurmstepd is on a node with another proctrack, or with cgroup v1. */
int __wrap_hm_cgroup_of_self(char *out, size_t size)
{
    (void)out, (void)size;
    return -1;
}

static void test_what_the_ledger_gets(void **state)
{
    (void)state;
    step_configure("");
    step_begin("", false);
    free(step_prepare(NULL));
    assert_false(job.recorded);
    assert_int_equal(job.n_steps, 1);
    assert_int_equal(job.n_warnings, 0);

    step_begin("spill", true);
    free(step_prepare(NULL));
    assert_true(step_has_warning("step 0 runs without the partition's default mode: "));

    step_begin("", false);
    free(step_prepare("slow"));
    assert_true(job.recorded);
    assert_string_equal(job.request, ""); /* the refused request is the step's, and does not become the job's */
    assert_true(step_has_warning("step 0 was refused: "));
    assert_true(step_has_warning("memory is not measured: slurmstepd is in no cgroup of a step"));

    step_begin("", false);
    assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
    free(step_prepare(NULL));
    assert_false(job.is_entered);
    assert_int_equal(job.uid, getuid());
}

/* The entry of the first job on the node cannot be written, as a folder is in the place of its draft. */
static void test_company_that_cannot_be_noted(void **state)
{
    (void)state;
    step_configure("");
    step_begin("", false);
    assert_int_equal(mkdir(scratch_path("run/jobs/7.draft"), 0700), 0);
    struct hm_step_facts facts = step_facts_of(NULL);
    facts.job_id = 8;
    free(step_prepare_facts(&facts, 0));
    assert_int_equal(hm_ledger_read(&config, 8, &job, &error), 0);
    assert_true(job.had_company);
    assert_true(
        step_has_warning("who else is on the node is not known, so that its counters are not taken for the job's: "
                         "cannot write the ledger's entry of job 7"));
}

static void test_what_the_configuration_says_of_steps(void **state)
{
    (void)state;
    /* A job that began before it was switched off goes on; one that began after that has no entry, and gets none. */
    step_configure("enabled = no");
    step_begin("spill", false);
    free(step_prepare(NULL));
    assert_int_equal(job.n_steps, 1);
    assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
    struct hm_step_facts facts = step_facts_of("spill");
    struct hm_step *step = step_prepare_facts(&facts, 0);
    assert_false(step->is_active || step->config.enabled);
    free(step);
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), -1);

    step_configure("record = all");
    step_begin("", false);
    free(step_prepare(NULL));
    assert_true(job.recorded);
}

/* Prepares a step that must go on without the job's entry, for a reason with these words. */
static void prepare_without_entry(const char *words)
{
    struct hm_step_facts facts = step_facts_of("slow");
    struct hm_step *step = step_prepare_facts(&facts, -1);
    assert_non_null(strstr(error.text, words));
    assert_true(step->is_active);
    free(step);
}

/* An entry that cannot be read may say what was changed on the node, so it is not replaced. The step goes on. */
static void test_an_entry_that_cannot_be_read_stays(void **state)
{
    (void)state;
    char text[8] = "";
    const char *path = scratch_path("run/jobs/7");
    step_configure("");
    step_begin("spill", false);
    scratch_write(path, "other");
    prepare_without_entry("the ledger's entry of job 7: its version is not one");
    assert_int_equal(hm_file_read(path, text, sizeof(text), NULL), 0);
    assert_string_equal(text, "other");
}

/* The entry may be that of another cluster's job with this number. */
static void test_an_entry_of_another_user_stays(void **state)
{
    (void)state;
    step_configure("");
    step_begin("spill", false);
    job.uid = getuid() + 1;
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    prepare_without_entry("the entry of job 7 is that of user ");
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_int_equal(job.uid, getuid() + 1);
    assert_int_equal(job.n_steps, 0);
}

/* Prepares a step whose slurmstepd says these ids of an array, and compares what the entry has then. */
static void check_array(uint32_t step_id, uint32_t array, uint32_t noted, bool is_told)
{
    struct hm_step_facts facts = step_facts_of(NULL);
    facts.step_id = step_id;
    facts.array_job_id = array;
    facts.array_task_id = array == HM_NO_ID ? HM_NO_ID : array + 1;
    free(step_prepare_facts(&facts, 0));
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_int_equal(job.array_job_id, noted);
    assert_int_equal(job.array_task_id, noted == HM_NO_ID ? HM_NO_ID : noted + 1);
    assert_int_equal(job.array_is_told, is_told);
}

/* Only the batch script's slurmstepd has them from slurmctld. Others take them from the step's environment. */
static void test_no_step_forges_the_ids_of_an_array(void **state)
{
    (void)state;
    step_configure("");
    step_begin("", false);
    check_array(HM_STEP_EXTERN, HM_NO_ID, HM_NO_ID, false);
    check_array(0, 5, 5, false);
    check_array(1, HM_NO_ID, 5, false);
    check_array(HM_STEP_BATCH, 8, 8, true);
    check_array(2, 5, 8, true);
    check_array(HM_STEP_EXTERN, HM_NO_ID, 8, true);
    step_begin("", false);
    check_array(HM_STEP_BATCH, HM_NO_ID, HM_NO_ID, true);
    check_array(0, 5, HM_NO_ID, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_the_ledger_gets),
        cmocka_unit_test(test_no_step_forges_the_ids_of_an_array),
        cmocka_unit_test(test_company_that_cannot_be_noted),
        cmocka_unit_test(test_what_the_configuration_says_of_steps),
        cmocka_unit_test(test_an_entry_that_cannot_be_read_stays),
        cmocka_unit_test(test_an_entry_of_another_user_stays),
    };
    return cmocka_run_group_tests(tests, step_set_up, scratch_drop);
}
