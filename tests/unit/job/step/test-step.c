/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which request a step has, and when it is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "stepfixture.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

/* There is no topology here, so no request can be met: which steps are refused, and with which text? */
static const struct {
    const char *request; /* of the allocation */
    bool is_default;
    const char *option; /* of the step */
    const char *config;
    bool is_active;
    const char *refusal; /* part of the text */
} decisions[] = {
    {"", false, NULL, "", false, ""},
    {"off", false, NULL, "", false, ""},
    {"spill", false, "off", "", false, ""},
    {"spill", false, NULL, "", true, "topology"},
    {"off", false, "spill", "", true, "topology"},
    {"spill", true, NULL, "", false, ""}, /* nobody asked for it */
    {"spill", true, "spill", "", true, "topology"},
    {"", false, "spil", "", true, "spil"},
    {"", false, "", "", true, "empty"},
    {"", false, "memory", "", true, "topology"},
    {"", false, "migrate", "", true, "topology"},
    {"", false, "spill", "modes = { \"fast\" }", true, "spill"},
    {"spill", false, NULL, "enabled = no", true, "topology"}, /* the job began before that */
    {"fsdax,size=1G", false, NULL, "", true, "the prolog has made no DAX file system for this job"},
    {"spill", false, "fsdax,size=1G", "", true, "made before a job starts, not for a step"},
    {"fsdax,size=1G", false, "fsdax,size=2G", "", true, "made before a job starts, not for a step"},
    {"fsdax,size=1G", false, "fsdax", "", true, "fsdax wants a size"},
};

static void test_decisions(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(decisions); i++) {
        step_begin(decisions[i].request, decisions[i].is_default);
        step_configure(decisions[i].config);
        struct hm_step *step = step_prepare(decisions[i].option);
        if (step->is_active != decisions[i].is_active || !strstr(step->refusal, decisions[i].refusal) ||
            (!decisions[i].refusal[0] && step->refusal[0]))
            fail_msg("row %zu: active %d, refusal \"%s\"", i, step->is_active, step->refusal);
        free(step);
    }
}

/* Where the prolog has not entered the job, nobody knows the account and partition whose rules may forbid the mode. */
static void test_rules_hold_without_the_prolog(void **state)
{
    static const struct {
        const char *config, *option, *refusal; /* "topology": the rules allow it */
    } rows[] = {
        {"account \"teaching\" { modes = { fast } }", "spill", "rules by account"},
        {"partition \"main\" { modes = { fast } }", "spill", "rules by partition"},
        {"account \"teaching\" { modes = { fast } }", "fast", "rules by account"},
        {"partition \"main\" { default_mode = fast }", "spill", "topology"},
        {"user \"someone\" { modes = { spill } }", "spill", "topology"},
        {"user \"someone\" { modes = { spill } }", "fast", "the rule for user"},
        {"account \"teaching\" { modes = { fast } }", "off", ""},
        {"", "spill", "topology"},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        step_begin("", false);
        assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
        step_configure(rows[i].config);
        for (int n = 0; n < 2; n++) { /* the next step finds the entry of this one */
            struct hm_step *step = step_prepare(rows[i].option);
            if (!strstr(step->refusal, rows[i].refusal) || (!rows[i].refusal[0] && step->refusal[0]))
                fail_msg("row %zu: refusal \"%s\"", i, step->refusal);
            free(step);
        }
    }
}

/* Looking up users may be slow, so it is done without the ledger's lock, and only where it is needed. */
static void test_users_are_looked_up_without_the_lock(void **state)
{
    static const struct {
        bool has_entry, has_rule;
        const char *option;
        unsigned n_lookups;
    } rows[] = {{true, true, NULL, 0},  {true, true, "slow", 1},  {true, false, "slow", 0},
                {false, true, NULL, 1}, {false, true, "slow", 1}, {false, false, NULL, 1}};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        step_configure(rows[i].has_rule ? "group \"wheel\" { modes = { slow } }" : "");
        step_begin("spill", false);
        if (!rows[i].has_entry)
            assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
        n_lookups = 0;
        free(step_prepare(rows[i].option));
        assert_int_equal(n_lookups, rows[i].n_lookups);
        if (!rows[i].has_entry)
            assert_true(job.user[0] != '\0');
    }
}

/* Makes a ledger whose job 7 has a file system. */
static void begin_with_file_system(void)
{
    step_begin("fsdax,size=1G", false);
    job.namespaces.n = 1;
    job.namespaces.each[0] =
        (struct hm_job_namespace){.name = "namespace0.0", .device = "/dev/pmem0", .fs = "ext4", .bytes = 1};
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
}

/* All steps of a job see its file systems, whatever they ask for themselves, also after hybridmem was switched off. */
static void test_file_systems(void **state)
{
    static const char *const options[] = {NULL, "fsdax,size=1G", "off", "spill"};
    (void)state;
    for (size_t n = 0; n < 2 * N_ROWS(options); n++) {
        size_t i = n / 2;
        step_configure(n % 2 == 0 ? "" : "enabled = no");
        begin_with_file_system();
        struct hm_step *step = step_prepare(options[i]);
        assert_int_equal(step->namespaces.n, 1);
        assert_string_equal(step->namespaces.each[0].device, "/dev/pmem0");
        assert_int_equal(step->refusal[0] == '\0', i < 3);
        free(step);
    }
}

/* They need no configuration: a step has them and its mode, and no warning says that it is without. */
static void test_file_systems_where_the_configuration_is_wrong(void **state)
{
    static const char *const options[] = {NULL, "fsdax,size=1G"};
    (void)state;
    step_configure("record = some");
    for (size_t i = 0; i < N_ROWS(options); i++) {
        begin_with_file_system();
        struct hm_step_facts facts = step_facts_of(options[i]);
        struct hm_step *step = step_prepare_facts(&facts, -1);
        assert_non_null(strstr(error.text, "step.conf:2: ")); /* for the log */
        assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
        assert_true(step->is_active && !step->refusal[0] && step->namespaces.n == 1);
        assert_false(step_has_warning("without its mode"));
        free(step);
    }
}

/* The prolog's refusal is already in the entry. A step of the same request does not add it as a warning, too. */
static void test_a_refusal_is_said_once(void **state)
{
    static const struct {
        const char *option;
        bool is_said;
    } rows[] = {{NULL, false}, {"spill", false}, {"slow", true}};
    (void)state;
    step_configure("");
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        step_begin("spill", false);
        snprintf(job.refusal, sizeof(job.refusal), "the prolog says no");
        assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
        struct hm_step *step = step_prepare(rows[i].option);
        assert_true(step->is_active && step->refusal[0]);
        if (!rows[i].option)
            assert_string_equal(step->refusal, "the prolog says no");
        assert_string_equal(job.refusal, "the prolog says no");
        assert_int_equal(step_has_warning("step 0 was refused: "), rows[i].is_said);
        free(step);
    }
}

/*
 * The script of a heterogeneous job passes its option on to the steps of all components. Such a step uses the request
 * of its own component if there is one. File systems are only the leader's.
 */
static void test_a_component_has_its_own_request(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        uint32_t het_job_id;
        bool is_inherited;
        const char *option, *then;
    } rows[] = {
        {"fast", HM_NO_ID, true, "slow", "slow"},
        {"fast", 7, true, "slow", "slow"},
        {"fast", 6, true, "slow", "fast"},
        {"fast", 6, false, "slow", "slow"},
        {"", 6, true, "slow", "slow"},
        {"", 6, true, "fsdax,size=1G", ""},
        {"", 6, false, "fsdax,size=1G", "fsdax,size=1G"},
    };
    step_configure("");
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        step_begin(rows[i].request, false);
        job.het_job_id = rows[i].het_job_id;
        assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
        inherited = rows[i].is_inherited;
        struct hm_step *step = step_prepare(rows[i].option);
        inherited = false;
        assert_string_equal(step->request.text, rows[i].then);
        free(step);
    }
}

/* A mistake in the configuration ends the steps of those who ask for something anew, and of no job that was let run. */
static void test_a_mistake_in_the_configuration_ends_no_job_that_runs(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        bool is_default, is_entered;
        const char *refusal, *option; /* of the prolog; of the step */
        bool is_refused;
        const char *warning;
    } rows[] = {
        {"spill", false, true, "", NULL, false, "step 0 runs without its mode: "},
        {"spill", false, true, "", "spill", false, "step 0 runs without its mode: "},
        {"spill", false, true, "", "slow", true, "step 0 was refused: "},
        {"spill", true, true, "", NULL, false, "step 0 runs without the partition's default mode: "},
        {"spill", true, true, "", "spill", true, "step 0 was refused: "}, /* it asks for the default itself */
        {"spill", false, true, "the prolog says no", NULL, true, "step 0 was refused: "},
        {"", false, true, "", "spill", true, "step 0 was refused: "},
        {"", false, false, "", "spill", true, "step 0 was refused: "},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        step_begin(rows[i].request, rows[i].is_default);
        job.is_entered = rows[i].is_entered;
        snprintf(job.refusal, sizeof(job.refusal), "%s", rows[i].refusal);
        assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
        step_configure("record = some");
        struct hm_step_facts facts = step_facts_of(rows[i].option);
        struct hm_step *step = step_prepare_facts(&facts, -1);
        assert_non_null(strstr(error.text, "step.conf:2: ")); /* for the log */
        assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
        if (step->is_active != rows[i].is_refused || (step->refusal[0] != '\0') != rows[i].is_refused ||
            !step_has_warning(rows[i].warning) || !step_has_warning("step.conf:2: "))
            fail_msg("row %zu: active %d, refusal \"%s\", warning \"%s\"", i, step->is_active, step->refusal,
                     job.warning[0]);
        free(step);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decisions),
        cmocka_unit_test(test_rules_hold_without_the_prolog),
        cmocka_unit_test(test_users_are_looked_up_without_the_lock),
        cmocka_unit_test(test_file_systems),
        cmocka_unit_test(test_file_systems_where_the_configuration_is_wrong),
        cmocka_unit_test(test_a_refusal_is_said_once),
        cmocka_unit_test(test_a_component_has_its_own_request),
        cmocka_unit_test(test_a_mistake_in_the_configuration_ends_no_job_that_runs),
    };
    return cmocka_run_group_tests(tests, step_set_up, scratch_drop);
}
