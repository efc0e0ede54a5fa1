/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "helpers/job/cores.h"
#include "helpers/job/files.h"
#include "helpers/job/log.h"
#include "helpers/job/spawn.h"
#include "helpers/job/step.h"
#include "helpers/job/task.h"
#include "scratch.h"

static struct hm_error error;
static char root[] = "/tmp/hm-step.XXXXXX";
static char config_path[64];
static struct hm_config config;
static struct hm_job job;

static void configure(const char *text)
{
    FILE *file = fopen(config_path, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "run_dir = \"%s/run\"\n%s\n", root, text) > 0);
    assert_int_equal(fclose(file), 0);
}

/* A ledger whose job 7 has this request. */
static void begin(const char *request, bool is_default)
{
    hm_config_defaults(&config);
    snprintf(config.run_dir, sizeof(config.run_dir), "%s/run", root);
    assert_int_equal(scratch_remove(config.run_dir), 0);
    hm_job_init(&job, 7);
    snprintf(job.request, sizeof(job.request), "%s", request);
    job.request_is_default = is_default;
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
}

static bool inherited;

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

static struct hm_step *prepare(const char *option)
{
    struct hm_step_facts facts = facts_of(option);
    struct hm_step *step = calloc(1, sizeof(*step));
    assert_non_null(step);
    error.text[0] = '\0';
    assert_int_equal(hm_step_prepare(&facts, step, &error), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
    return step;
}

/* There is no topology here, so that what is asked for cannot be had: who is refused, and by which words? */
static const struct {
    const char *request; /* the allocation's */
    bool is_default;
    const char *option; /* the step's */
    const char *config;
    bool is_active;
    const char *refusal; /* part of it */
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
    {"", false, "isolate", "", true, "not available"},
    {"", false, "migrate", "", true, "topology"},
    {"", false, "spill", "modes = { \"fast\" }", true, "spill"},
    {"spill", false, NULL, "enabled = no", false, ""},
};

static void test_decisions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(decisions) / sizeof(*decisions); i++) {
        begin(decisions[i].request, decisions[i].is_default);
        configure(decisions[i].config);
        struct hm_step *step = prepare(decisions[i].option);
        if (step->is_active != decisions[i].is_active || !strstr(step->refusal, decisions[i].refusal) ||
            (!decisions[i].refusal[0] && step->refusal[0]))
            fail_msg("row %zu: active %d, refusal \"%s\"", i, step->is_active, step->refusal);
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
    assert_string_equal(job.request, ""); /* the step's, not the job's: the next step has none */
    assert_true(has_warning("step 0 was refused: "));

    begin("", false);
    assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
    free(prepare(NULL));
    assert_true(has_warning("prolog"));
    assert_int_equal(job.uid, getuid());

    begin("fast", false);
    snprintf(job.refusal, sizeof(job.refusal), "the prolog says no");
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    struct hm_step *step = prepare(NULL);
    assert_string_equal(step->refusal, "the prolog says no");
    free(step);

    configure("enabled = no");
    begin("spill", false);
    free(prepare(NULL));
    assert_int_equal(job.n_steps, 0);

    configure("record = all");
    begin("", false);
    free(prepare(NULL));
    assert_true(job.recorded);
}

static void test_a_component_has_its_own_request(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        uint32_t het_job_id;
        bool is_inherited;
        const char *then;
    } rows[] = {
        {"fast", HM_NO_ID, true, "slow"}, {"fast", 7, true, "slow"}, {"fast", 6, true, "fast"},
        {"fast", 6, false, "slow"},       {"", 6, true, "slow"},
    };
    configure("");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        begin(rows[i].request, false);
        job.het_job_id = rows[i].het_job_id;
        assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
        inherited = rows[i].is_inherited;
        struct hm_step *step = prepare("slow");
        inherited = false;
        assert_string_equal(step->request.text, rows[i].then);
        free(step);
    }
}

/* It may say what was changed on the node: it is neither replaced nor believed. The step goes on. */
static void test_an_entry_that_cannot_be_read_stays(void **state)
{
    (void)state;
    char path[160], text[8] = "";
    configure("");
    begin("spill", false);
    snprintf(path, sizeof(path), "%s/run/jobs/7", root);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "other") > 0);
    assert_int_equal(fclose(file), 0);
    struct hm_step_facts facts = facts_of("slow");
    struct hm_step *step = calloc(1, sizeof(*step));
    assert_non_null(step);
    assert_int_equal(hm_step_prepare(&facts, step, &error), -1);
    assert_non_null(strstr(error.text, "the ledger's entry of job 7 is not of this version"));
    assert_true(step->is_active);
    assert_int_equal(hm_file_read(path, text, sizeof(text), NULL), 0);
    assert_string_equal(text, "other");
    free(step);
}

/* Place a task in a child; returns what it wrote to standard error, and its result as an exit status. */
static const char *place(const struct hm_step *step, struct hm_outcome *outcome, int *result)
{
    static char text[2048];
    int errors[2];
    size_t have = 0;
    ssize_t got;
    assert_int_equal(pipe(errors), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(errors[1], STDERR_FILENO);
        _exit(hm_task_place(step, outcome) == 0 ? 0 : 1);
    }
    close(errors[1]);
    while ((got = read(errors[0], text + have, sizeof(text) - 1 - have)) > 0)
        have += (size_t)got;
    text[have] = '\0';
    close(errors[0]);
    assert_int_equal(waitpid(pid, result, 0), pid);
    *result = WEXITSTATUS(*result);
    return text;
}

static void test_tasks_without_a_request_are_left_alone(void **state)
{
    (void)state;
    int result;
    struct hm_step *step = calloc(1, sizeof(*step));
    assert_non_null(step);
    snprintf(step->refusal, sizeof(step->refusal), "not for a step that asked for nothing");
    assert_string_equal(place(step, NULL, &result), "");
    assert_int_equal(result, 0);
    free(step);
}

static void test_a_refusal_is_one_line_for_all_tasks(void **state)
{
    (void)state;
    int result;
    struct hm_outcome *outcome = hm_outcome_map();
    struct hm_step *step = calloc(1, sizeof(*step));
    assert_non_null(step);
    assert_non_null(outcome);
    step->is_active = step->is_asked = true;
    snprintf(step->refusal, sizeof(step->refusal), "no such tier %%n");
    assert_string_equal(place(step, outcome, &result), "hybridmem: no such tier %n\n");
    assert_int_equal(result, 1);
    assert_string_equal(place(step, outcome, &result), "");
    assert_int_equal(result, 1);
    /* Without the shared piece each says it. */
    assert_string_equal(place(step, NULL, &result), "hybridmem: no such tier %n\n");
    assert_int_equal(result, 1);
    free(step);
    hm_outcome_unmap(outcome);
}

static void test_a_task_that_cannot_be_placed(void **state)
{
    (void)state;
    int result;
    struct hm_outcome *outcome = hm_outcome_map();
    struct hm_step *step = calloc(1, sizeof(*step));
    assert_non_null(step);
    hm_config_defaults(&step->config);
    assert_int_equal(hm_request_parse("slow", &step->request, &error), 0);
    step->is_active = true;
    /* No tiers at all: a default mode is left, one that was asked for is refused. */
    assert_string_equal(place(step, outcome, &result), "");
    assert_int_equal(result, 0);
    assert_int_equal(outcome->n_warnings, 1);
    assert_non_null(strstr(outcome->warning[0], "default mode"));
    step->is_asked = true;
    outcome->said_refusal = 0;
    assert_non_null(strstr(place(step, outcome, &result), "hybridmem: "));
    assert_int_equal(result, 1);
    assert_int_equal(outcome->n_warnings, 2);
    free(step);
    hm_outcome_unmap(outcome);
}

/* Wait statuses in the order of the tasks' ends, and what the entry has then. */
static const struct {
    uint32_t step_id;
    int status[4]; /* -1: end */
    int then;
    bool is_final;
} endings[] = {
    {0, {0, 0, -1}, 0, false},         {0, {0, 256, 0, -1}, 256, false},  {0, {512, 256, -1}, 512, false},
    {HM_STEP_BATCH, {9, -1}, 9, true}, {HM_STEP_BATCH, {0, -1}, 0, true},
};

static void test_exit_statuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        begin("", false);
        struct hm_outcome *outcome = hm_outcome_map();
        struct hm_step *step = calloc(1, sizeof(*step));
        assert_non_null(step);
        step->config = config;
        step->job_id = 7;
        step->step_id = endings[i].step_id;
        step->n_tasks = 3;
        for (const int *status = endings[i].status; *status >= 0; status++)
            assert_int_equal(hm_task_ended(step, outcome, *status, &error), 0);
        assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
        assert_true(job.has_exit_status);
        assert_int_equal(job.exit_status, endings[i].then);
        assert_int_equal(job.exit_status_is_final, endings[i].is_final);
        /* A later step does not change the batch script's. */
        step->step_id = 1;
        outcome->n_stored = 0;
        assert_int_equal(hm_task_ended(step, outcome, 15 << 8, &error), 0);
        assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
        assert_int_equal(job.exit_status, endings[i].is_final ? endings[i].then : 15 << 8);
        free(step);
        hm_outcome_unmap(outcome);
    }
}

static void test_the_last_task_notes_the_kernels_peak(void **state)
{
    (void)state;
    char path[128];
    begin("", false);
    snprintf(job.cgroup, sizeof(job.cgroup), "%s", root);
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    snprintf(path, sizeof(path), "%s/memory.peak", root);
    struct hm_outcome *outcome = hm_outcome_map();
    struct hm_step *step = calloc(1, sizeof(*step));
    assert_non_null(step);
    step->config = config;
    step->job_id = 7;
    step->n_tasks = 2;
    static const struct {
        const char *text;
        uint64_t then;
    } rows[] = {{"100", 0}, {"300", 300}, {"200", 300}, {"nonsense", 300}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fprintf(file, "%s\n", rows[i].text) > 0);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(hm_task_ended(step, outcome, 0, &error), 0);
        assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
        assert_int_equal(job.memory_peak, rows[i].then);
    }
    free(step);
    hm_outcome_unmap(outcome);
}

static void test_what_tasks_leave_is_checked(void **state)
{
    (void)state;
    begin("spill", false);
    job.has_plan = true;
    snprintf(job.plan.request.text, sizeof(job.plan.request.text), "spill");
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    struct hm_outcome *outcome = hm_outcome_map();
    struct hm_step *step = calloc(1, sizeof(*step));
    assert_non_null(step);
    step->config = config;
    step->job_id = 7;
    snprintf(step->request.text, sizeof(step->request.text), "spill");
    memset(outcome, 0xff, sizeof(*outcome));
    outcome->has_plan = 1;
    outcome->n_stored = 0;
    assert_int_equal(hm_task_ended(step, outcome, 0, &error), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_int_equal(job.n_warnings, 0);
    assert_int_equal(job.plan.policy, HM_POLICY_DEFAULT);

    memset(outcome, 0, sizeof(*outcome));
    outcome->has_plan = outcome->n_warnings = 1;
    outcome->plan.policy = HM_POLICY_BIND;
    snprintf(outcome->warning[0], HM_WARNING, "a word");
    assert_int_equal(hm_task_ended(step, outcome, 0, &error), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_string_equal(job.warning[0], "a word");
    assert_int_equal(job.plan.policy, HM_POLICY_BIND);
    free(step);
    hm_outcome_unmap(outcome);
}

static void test_names_and_counts(void **state)
{
    (void)state;
    char name[16];
    const char *text;
    assert_string_equal(hm_step_name(HM_STEP_BATCH, name, sizeof(name)), "batch");
    assert_string_equal(hm_step_name(HM_STEP_EXTERN, name, sizeof(name)), "extern");
    assert_string_equal(hm_step_name(HM_STEP_INTERACTIVE, name, sizeof(name)), "interactive");
    assert_string_equal(hm_step_name(12, name, sizeof(name)), "12");
    assert_int_equal(hm_cores_count(8, 0), 0);
    assert_int_equal(hm_cores_count(8, 2), 4);
    assert_int_equal(hm_cores_count(8, 1), 8);
    assert_int_equal(hm_log_parse("warning: low", &text), HM_LOG_WARNING);
    assert_string_equal(text, "low");
    assert_int_equal(hm_log_parse("info: x", &text), HM_LOG_INFO);
    assert_int_equal(hm_log_parse("a library's own words", &text), HM_LOG_ERROR);
    assert_string_equal(text, "a library's own words");
}

static char *const no_environment[] = {NULL};

/* Run a shell command as hm_spawn_start would run ours; returns its standard error. */
static const char *spawn_shell(const char *command, int extra)
{
    static char text[2048];
    char shell[] = "sh", flag[] = "-c", words[512];
    char *arguments[] = {shell, flag, words, NULL};
    int errors[2];
    size_t have = 0;
    ssize_t got;
    snprintf(words, sizeof(words), "%s", command);
    assert_int_equal(pipe(errors), 0);
    struct hm_spawn spawn = {
        .path = "/bin/sh", .arguments = arguments, .environment = no_environment, .extra = extra, .errors = errors[1]};
    pid_t pid = hm_spawn_start(&spawn, &error);
    assert_true(pid > 0);
    close(errors[1]);
    while ((got = read(errors[0], text + have, sizeof(text) - 1 - have)) > 0)
        have += (size_t)got;
    text[have] = '\0';
    close(errors[0]);
    assert_int_equal(hm_spawn_wait(pid), 0);
    return text;
}

static void test_nothing_is_handed_down(void **state)
{
    (void)state;
    sigset_t all, before;
    int open_one[2];
    assert_int_equal(pipe(open_one), 0);
    setenv("HM_SECRET", "x", 1);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    signal(SIGPIPE, SIG_IGN);
    assert_null(strstr(spawn_shell("/usr/bin/env >&2; true", -1), "HM_SECRET"));
    /* SIGPIPE and the like; the two signals that libc keeps for itself nobody may set. */
    const char *ignored = strstr(spawn_shell("exec /bin/cat /proc/self/status >&2", -1), "SigIgn:\t");
    assert_non_null(ignored);
    assert_int_equal(strtoull(ignored + strlen("SigIgn:\t"), NULL, 16) & 0x7fffffff, 0);
    const char *blocked = strstr(spawn_shell("exec /bin/cat /proc/self/status >&2", -1), "SigBlk:\t");
    assert_non_null(blocked);
    assert_int_equal(strtoull(blocked + strlen("SigBlk:\t"), NULL, 16), 0);
    const char *list_open = "for fd in 0 1 2 3 4 5 6 7 8 9; do [ ! -e /proc/$$/fd/$fd ] || echo $fd >&2; done";
    assert_string_equal(spawn_shell(list_open, -1), "0\n1\n2\n");
    assert_string_equal(spawn_shell(list_open, open_one[0]), "0\n1\n2\n3\n");
    assert_string_equal(spawn_shell("pwd >&2", -1), "/\n");
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, SIG_DFL);
    close(open_one[0]);
    close(open_one[1]);
}

static void test_a_child_is_waited_for_so_long(void **state)
{
    (void)state;
    char shell[] = "sh", flag[] = "-c", quick[] = "exit 3", slow[] = "trap '' TERM; sleep 100000";
    char *arguments[] = {shell, flag, quick, NULL};
    struct hm_spawn spawn = {
        .path = "/bin/sh", .arguments = arguments, .environment = no_environment, .extra = -1, .errors = -1};
    pid_t pid = hm_spawn_start(&spawn, &error);
    assert_int_equal(hm_spawn_wait_for(pid, 60000), 3 << 8);
    arguments[2] = slow;
    pid = hm_spawn_start(&spawn, &error);
    assert_true(pid > 0);
    assert_int_equal(hm_spawn_wait_for(pid, 50), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_int_equal(waitpid(pid, NULL, 0), -1); /* gone, and no zombie */
    assert_int_equal(errno, ECHILD);
}

/* All but one, wherever that one is. */
static void test_descriptors_are_closed(void **state)
{
    (void)state;
    static const struct {
        int first, kept;
        const char *then; /* of the descriptors 20 to 25, one letter each */
    } rows[] = {{20, -1, "------"}, {20, 22, "--x---"}, {22, 20, "xx----"}, {22, 22, "xxx---"}, {23, 25, "xxx--x"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int result;
        pid_t pid = fork();
        if (pid == 0) {
            char then[] = "------";
            for (int fd = 20; fd <= 25; fd++)
                dup2(STDERR_FILENO, fd);
            hm_close_from(rows[i].first, rows[i].kept);
            for (int fd = 20; fd <= 25; fd++)
                then[fd - 20] = fcntl(fd, F_GETFD) >= 0 ? 'x' : '-';
            _exit(strcmp(then, rows[i].then) == 0 ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &result, 0), pid);
        assert_int_equal(result, 0);
    }
}

static void test_a_start_that_fails_names_the_step(void **state)
{
    (void)state;
    char name[] = "none";
    char *arguments[] = {name, NULL};
    struct hm_spawn spawn = {
        .path = "/nonexistent/none", .arguments = arguments, .environment = no_environment, .extra = -1, .errors = -1};
    assert_int_equal(hm_spawn_start(&spawn, &error), -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(error.text, "cannot execute /nonexistent/none: No such file or directory");
    spawn.cgroup = root; /* no cgroup.procs in it */
    assert_int_equal(hm_spawn_start(&spawn, &error), -1);
    assert_non_null(strstr(error.text, "cannot choose the cgroup of"));
}

static int remove_root(void **state)
{
    (void)state;
    return scratch_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decisions),
        cmocka_unit_test(test_what_the_ledger_gets),
        cmocka_unit_test(test_an_entry_that_cannot_be_read_stays),
        cmocka_unit_test(test_a_component_has_its_own_request),
        cmocka_unit_test(test_tasks_without_a_request_are_left_alone),
        cmocka_unit_test(test_a_refusal_is_one_line_for_all_tasks),
        cmocka_unit_test(test_a_task_that_cannot_be_placed),
        cmocka_unit_test(test_exit_statuses),
        cmocka_unit_test(test_the_last_task_notes_the_kernels_peak),
        cmocka_unit_test(test_what_tasks_leave_is_checked),
        cmocka_unit_test(test_names_and_counts),
        cmocka_unit_test(test_nothing_is_handed_down),
        cmocka_unit_test(test_descriptors_are_closed),
        cmocka_unit_test(test_a_child_is_waited_for_so_long),
        cmocka_unit_test(test_a_start_that_fails_names_the_step),
    };
    if (!mkdtemp(root))
        return 1;
    snprintf(config_path, sizeof(config_path), "%s/step.conf", root);
    return cmocka_run_group_tests(tests, NULL, remove_root);
}
