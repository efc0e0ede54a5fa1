/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what a guided task reads of the program that chooses its sites. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fields.h"
#include "job/ledger/table.h"
#include "job/step/guided.h"
#include "job/step/outcomeentry.h"
#include "slurm/stepname.h"
#include "unit/lib/rows.h"

static char text[HM_GUIDED_TEXT];
static struct hm_guided guided;

static int parse(const char *printed)
{
    static char copy[HM_GUIDED_TEXT + 1024];
    memset(&guided, 0, sizeof(guided));
    snprintf(copy, sizeof(copy), "%s", printed);
    return hm_guided_parse(copy, &guided, text);
}

static void test_a_choice(void **state)
{
    (void)state;
    assert_int_equal(
        parse("stale_sites 9\nstale_found 7\nprofile /home/a/7.0.json\ninput small + large\npacker thermos\nfast_bytes "
              "10485760\nexpected_share 0.75\nlater words of it\n"
              "HYBRIDMEM_GUIDE fast=0@0 slow=2@0 sites=00000000000000a1,ffffffffffffffff\n"),
        0);
    assert_true(guided.is_known);
    assert_string_equal(guided.profile, "/home/a/7.0.json");
    assert_string_equal(guided.input, "small + large");
    assert_string_equal(guided.packer, "thermos");
    assert_true(guided.stale_sites == 9 && guided.stale_found == 7);
    assert_int_equal(guided.fast_bytes, 10485760);
    assert_float_equal(guided.expected_share, 0.75, 1e-9);
    assert_int_equal(guided.n_sites, 2);
    assert_true(guided.site[0] == 0xa1 && guided.site[1] == UINT64_MAX);
    assert_string_equal(text, "fast=0@0 slow=2@0 sites=00000000000000a1,ffffffffffffffff");
    assert_int_equal(hm_fields_check(hm_guided_table, &guided, NULL), 0);
}

static void test_a_program_that_cannot_be_guided(void **state)
{
    (void)state;
    assert_int_equal(parse(""), 0);
    assert_true(guided.is_known);
    assert_string_equal(text, "");
    assert_int_equal(guided.n_sites, 0);
}

static void test_many_sites_are_counted(void **state)
{
    static char printed[HM_GUIDED_TEXT];
    size_t used = (size_t)snprintf(printed, sizeof(printed), "HYBRIDMEM_GUIDE fast=0 slow=1 sites=");
    (void)state;
    for (unsigned i = 0; i < 4096; i++)
        used += (size_t)snprintf(printed + used, sizeof(printed) - used, "%s%016x", i > 0 ? "," : "", i);
    assert_int_equal(parse(printed), 0);
    assert_int_equal(guided.n_sites, 4096);
    assert_int_equal(guided.site[HM_GUIDED_SITES - 1], HM_GUIDED_SITES - 1);
    assert_int_equal(hm_fields_check(hm_guided_table, &guided, NULL), 0);
}

static const char *const wrong[] = {
    "profile 7.0.json",
    "packer",
    "packer ",
    "packer a-name-that-is-too-long",
    "fast_bytes -1",
    "stale_found x",
    "fast_bytes 10M",
    "expected_share 1.5",
    "expected_share nan",
    "expected_share 0.5x",
    "expected_share ",
    "HYBRIDMEM_GUIDE ",
};

static void test_what_is_none_of_ours(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(wrong); i++)
        assert_int_equal(parse(wrong[i]), -1);
}

/* Tasks can write anything into what slurmstepd reads of them. */
static void test_what_a_task_has_made_up_is_not_taken(void **state)
{
    (void)state;
    assert_int_equal(parse("expected_share 0.5\n"), 0);
    guided.expected_share = 5;
    assert_int_equal(hm_fields_check(hm_guided_table, &guided, NULL), -1);
    guided.expected_share = 1;
    memset(guided.why, 'x', sizeof(guided.why));
    assert_int_equal(hm_fields_check(hm_guided_table, &guided, NULL), -1);
}

/* No profile is of a shell, and a job would be refused its terminal. */
static void test_the_shell_of_an_interactive_job_runs_unguided(void **state)
{
    static struct hm_plan plan;
    static struct hm_step step;
    static char none[HM_GUIDED_TEXT];
    const struct hm_environment environment = {NULL, NULL, NULL, NULL, NULL};
    (void)state;
    step.step_id = 0;
    assert_int_equal(hm_guided_choose(&environment, &plan, &step, &guided, none, NULL), -1);
    step.step_id = HM_STEP_INTERACTIVE;
    assert_int_equal(hm_guided_choose(&environment, &plan, &step, &guided, none, NULL), 0);
    assert_string_equal(none, "");
    assert_true(guided.is_known && strstr(guided.why, "what it starts by srun is"));
    assert_int_equal(hm_fields_check(hm_guided_table, &guided, NULL), 0);
}

/* Whatever keeps a program from being guided, with a fallback the task runs. Here nothing is installed. */
static void test_a_fallback_runs(void **state)
{
    static struct hm_plan plan;
    static struct hm_step step;
    static char none[HM_GUIDED_TEXT];
    const struct hm_environment environment = {NULL, NULL, NULL, NULL, NULL};
    (void)state;
    step.step_id = 3;
    plan.request.guide.fallback = HM_FALLBACK_MIGRATE;
    assert_int_equal(hm_guided_choose(&environment, &plan, &step, &guided, none, NULL), 0);
    assert_string_equal(none, "");
    assert_true(guided.is_known && guided.is_migrated && guided.why[0] && guided.step_id == 3);
    assert_int_equal(hm_fields_check(hm_guided_table, &guided, NULL), 0);
}

/* What steps say one after the other, each why it is not guided, or that it is; and which of them the record has. */
static const struct {
    uint32_t step_id;
    const char *why;
    uint32_t kept;
} steps[] = {
    {HM_STEP_BATCH, "", HM_STEP_BATCH},
    {0, "no profile", 0},
    {1, "it is static", 1},
    {HM_STEP_BATCH, "", 1},
    {2, "", 2},
    {3, "", 2},
    {4, "no profile", 2},
    {HM_STEP_INTERACTIVE, "a shell", 2},
};

static void test_the_first_guided_step_is_noted_and_a_script_last(void **state)
{
    static struct hm_job job;
    static struct hm_step step;
    static struct hm_outcome outcome;
    (void)state;
    for (size_t i = 0; i < N_ROWS(steps); i++) {
        outcome.has_guided = 1;
        outcome.guided = (struct hm_guided){.is_known = true, .step_id = steps[i].step_id};
        snprintf(outcome.guided.why, sizeof(outcome.guided.why), "%s", steps[i].why);
        step.step_id = steps[i].step_id;
        hm_outcome_collect(&outcome, &step, &job);
        assert_int_equal(job.guided.step_id, steps[i].kept);
    }
}

static void test_a_step_that_is_guided_in_part_says_so(void **state)
{
    static struct hm_job job;
    static struct hm_step step = {.step_id = 3, .n_tasks = 6};
    static struct hm_outcome outcome = {.n_guided = 4};
    (void)state;
    hm_outcome_note_mixed(&outcome, &step, &job);
    assert_int_equal(job.n_warnings, 0);
    outcome.n_unguided = 3; /* more than there are: a task has made it up */
    hm_outcome_note_mixed(&outcome, &step, &job);
    assert_int_equal(job.n_warnings, 0);
    outcome.n_unguided = 2;
    hm_outcome_note_mixed(&outcome, &step, &job);
    assert_int_equal(job.n_warnings, 1);
    assert_string_equal(job.warning[0], "step 3: of its tasks on this node 4 are guided and 2 are not: the record has "
                                        "the choice of the first");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_choice),
        cmocka_unit_test(test_a_program_that_cannot_be_guided),
        cmocka_unit_test(test_many_sites_are_counted),
        cmocka_unit_test(test_what_is_none_of_ours),
        cmocka_unit_test(test_the_shell_of_an_interactive_job_runs_unguided),
        cmocka_unit_test(test_a_fallback_runs),
        cmocka_unit_test(test_the_first_guided_step_is_noted_and_a_script_last),
        cmocka_unit_test(test_a_step_that_is_guided_in_part_says_so),
        cmocka_unit_test(test_what_a_task_has_made_up_is_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
