/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what a step makes of its job's entry and of its own request. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/files.h"
#include "core/config/lookup.h"
#include "freshledger.h"
#include "job/step/step.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static struct hm_error error;
static char config_path[64];
static struct hm_config config;
static struct hm_job job;
static unsigned n_lookups;
static bool inherited; /* the option of a step is the job's, from the environment of the job's script */

/* Stands for the directory service, which knows everybody here. The ledger's lock must be free meanwhile. */
int hm_lookup_uid(uid_t uid, struct hm_identity *identity, struct hm_error *why)
{
    static char *no_groups[] = {NULL};
    (void)why;
    int lock = open(scratch_path("run/jobs/lock"), O_RDWR | O_CLOEXEC);
    if (lock >= 0) { /* the lock exists only after it was first taken */
        assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
        close(lock);
    }
    n_lookups++;
    *identity = (struct hm_identity){.uid = uid, .gid = getgid(), .name = "someone", .groups = no_groups};
    return 0;
}

/* There is no user for the monitor here. */
int hm_lookup_user(const char *name, uid_t *uid, gid_t *gid, struct hm_error *why)
{
    (void)uid, (void)gid;
    return hm_fail(why, ENOENT, "no user %s", name);
}

/* The directory service knows every group, and nobody is in one. */
int hm_lookup_group(const char *name, gid_t *gid, struct hm_error *why)
{
    (void)name, (void)why;
    *gid = getgid();
    return 0;
}

void hm_identity_free(struct hm_identity *identity)
{
    identity->groups = NULL;
}

static void configure(const char *text)
{
    char lines[256];
    snprintf(lines, sizeof(lines), "run_dir = \"%s/run\"\n%s\n", scratch, text);
    scratch_write(config_path, lines);
}

/* Makes a ledger whose job 7 has this request. */
static void begin(const char *request, bool is_default)
{
    ledger_with_job(&config, &job);
    snprintf(job.request, sizeof(job.request), "%s", request);
    job.request_is_default = is_default;
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
}

static struct hm_step_facts facts_of(const char *option)
{
    struct hm_step_facts facts = {.config_path = config_path,
                                  .job_id = 7,
                                  .step_id = 0,
                                  .uid = getuid(),
                                  .gid = getgid(),
                                  .array_job_id = HM_NO_ID,
                                  .array_task_id = HM_NO_ID,
                                  .option = option,
                                  .option_is_inherited = inherited};
    return facts;
}

static struct hm_step *prepare_facts(const struct hm_step_facts *facts, int result)
{
    struct hm_step *step = calloc(1, sizeof(*step));
    assert_non_null(step);
    error.text[0] = '\0';
    assert_int_equal(hm_step_prepare(facts, step, &error), result);
    return step;
}

static struct hm_step *prepare(const char *option)
{
    struct hm_step_facts facts = facts_of(option);
    struct hm_step *step = prepare_facts(&facts, 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
    return step;
}

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
    {"", false, "memory", "", true, "not available"},
    {"", false, "migrate", "", true, "topology"},
    {"", false, "spill", "modes = { \"fast\" }", true, "spill"},
    {"spill", false, NULL, "enabled = no", false, ""},
    {"fsdax,size=1G", false, NULL, "", true, "the prolog has made no DAX file system for this job"},
    {"spill", false, "fsdax,size=1G", "", true, "made before a job starts, not for a step"},
    {"fsdax,size=1G", false, "fsdax,size=2G", "", true, "made before a job starts, not for a step"},
    {"fsdax,size=1G", false, "fsdax", "", true, "fsdax wants a size"},
};

static void test_decisions(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(decisions); i++) {
        begin(decisions[i].request, decisions[i].is_default);
        configure(decisions[i].config);
        struct hm_step *step = prepare(decisions[i].option);
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
        begin("", false);
        assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
        configure(rows[i].config);
        for (int n = 0; n < 2; n++) { /* the next step finds the entry of this one */
            struct hm_step *step = prepare(rows[i].option);
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
        configure(rows[i].has_rule ? "group \"wheel\" { modes = { slow } }" : "");
        begin("spill", false);
        if (!rows[i].has_entry)
            assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
        n_lookups = 0;
        free(prepare(rows[i].option));
        assert_int_equal(n_lookups, rows[i].n_lookups);
        if (!rows[i].has_entry)
            assert_true(job.user[0] != '\0');
    }
}

/* All steps of a job see its file systems, whatever they ask for themselves. */
static void test_file_systems(void **state)
{
    static const char *const options[] = {NULL, "fsdax,size=1G", "off", "spill"};
    (void)state;
    configure("");
    for (size_t i = 0; i < N_ROWS(options); i++) {
        begin("fsdax,size=1G", false);
        job.namespaces.n = 1;
        job.namespaces.each[0] =
            (struct hm_job_namespace){.name = "namespace0.0", .device = "/dev/pmem0", .fs = "ext4", .bytes = 1};
        assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
        struct hm_step *step = prepare(options[i]);
        assert_int_equal(step->namespaces.n, 1);
        assert_string_equal(step->namespaces.each[0].device, "/dev/pmem0");
        assert_int_equal(step->refusal[0] == '\0', i < 3);
        free(step);
    }
}

static bool has_warning(const char *part)
{
    for (uint32_t i = 0; i < job.n_warnings; i++)
        if (strstr(job.warning[i], part))
            return true;
    return false;
}

/* The prolog's refusal is already in the entry. A step of the same request does not add it as a warning, too. */
static void test_a_refusal_is_said_once(void **state)
{
    static const struct {
        const char *option;
        bool is_said;
    } rows[] = {{NULL, false}, {"spill", false}, {"slow", true}};
    (void)state;
    configure("");
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        begin("spill", false);
        snprintf(job.refusal, sizeof(job.refusal), "the prolog says no");
        assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
        struct hm_step *step = prepare(rows[i].option);
        assert_true(step->is_active && step->refusal[0]);
        if (!rows[i].option)
            assert_string_equal(step->refusal, "the prolog says no");
        assert_string_equal(job.refusal, "the prolog says no");
        assert_int_equal(has_warning("step 0 was refused: "), rows[i].is_said);
        free(step);
    }
}

static void test_what_the_ledger_gets(void **state)
{
    (void)state;
    configure("");
    begin("", false);
    free(prepare(NULL));
    assert_false(job.recorded);
    assert_int_equal(job.n_steps, 1);
    assert_int_equal(job.n_warnings, 0);

    begin("spill", true);
    free(prepare(NULL));
    assert_true(has_warning("step 0 runs without the partition's default mode: "));

    begin("", false);
    free(prepare("slow"));
    assert_true(job.recorded);
    assert_string_equal(job.request, ""); /* the refused request is the step's, and does not become the job's */
    assert_true(has_warning("step 0 was refused: "));

    begin("", false);
    assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
    free(prepare(NULL));
    assert_false(job.is_entered);
    assert_int_equal(job.uid, getuid());
}

/* The entry of the first job on the node cannot be written, as a folder is in the place of its draft. */
static void test_company_that_cannot_be_noted(void **state)
{
    (void)state;
    configure("");
    begin("", false);
    assert_int_equal(mkdir(scratch_path("run/jobs/7.draft"), 0700), 0);
    struct hm_step_facts facts = facts_of(NULL);
    facts.job_id = 8;
    free(prepare_facts(&facts, 0));
    assert_int_equal(hm_ledger_read(&config, 8, &job, &error), 0);
    assert_true(job.had_company);
    assert_true(has_warning("who else is on the node is not known, so that its counters are not taken for the job's: "
                            "cannot write the ledger's entry of job 7"));
}

static void test_what_the_configuration_says_of_steps(void **state)
{
    (void)state;
    configure("enabled = no");
    begin("spill", false);
    free(prepare(NULL));
    assert_int_equal(job.n_steps, 0);

    configure("record = all");
    begin("", false);
    free(prepare(NULL));
    assert_true(job.recorded);
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
    configure("");
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        begin(rows[i].request, false);
        job.het_job_id = rows[i].het_job_id;
        assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
        inherited = rows[i].is_inherited;
        struct hm_step *step = prepare(rows[i].option);
        inherited = false;
        assert_string_equal(step->request.text, rows[i].then);
        free(step);
    }
}

/* Prepares a step that must go on without the job's entry, for a reason with these words. */
static void prepare_without_entry(const char *words)
{
    struct hm_step_facts facts = facts_of("slow");
    struct hm_step *step = prepare_facts(&facts, -1);
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
    configure("");
    begin("spill", false);
    scratch_write(path, "other");
    prepare_without_entry("the ledger's entry of job 7: its version is not one");
    assert_int_equal(hm_file_read(path, text, sizeof(text), NULL), 0);
    assert_string_equal(text, "other");
}

/* The entry may be that of another cluster's job with this number. */
static void test_an_entry_of_another_user_stays(void **state)
{
    (void)state;
    configure("");
    begin("spill", false);
    job.uid = getuid() + 1;
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    prepare_without_entry("the entry of job 7 is that of user ");
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_int_equal(job.uid, getuid() + 1);
    assert_int_equal(job.n_steps, 0);
}

static int set_up(void **state)
{
    int result = scratch_make(state);
    snprintf(config_path, sizeof(config_path), "%s/step.conf", scratch);
    return result;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decisions),
        cmocka_unit_test(test_rules_hold_without_the_prolog),
        cmocka_unit_test(test_users_are_looked_up_without_the_lock),
        cmocka_unit_test(test_file_systems),
        cmocka_unit_test(test_a_refusal_is_said_once),
        cmocka_unit_test(test_what_the_ledger_gets),
        cmocka_unit_test(test_company_that_cannot_be_noted),
        cmocka_unit_test(test_what_the_configuration_says_of_steps),
        cmocka_unit_test(test_an_entry_that_cannot_be_read_stays),
        cmocka_unit_test(test_an_entry_of_another_user_stays),
        cmocka_unit_test(test_a_component_has_its_own_request),
    };
    return cmocka_run_group_tests(tests, set_up, scratch_drop);
}
