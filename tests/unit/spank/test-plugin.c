/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the plugin as Slurm loads it: its messages about arguments in the plugstack line, none of which makes it fail,
 * and what its prolog and epilog hand to hybridmem-job.
 */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "spank/plugin.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static spank_context_t context;
static char said[1024];
static char logged[1024];    /* the last line that the plugin wrote with slurm_info */
static spank_opt_cb_f given; /* what Slurm calls with the option's text */
static int (*init)(spank_t spank, int count, char **words);
static int (*prolog)(spank_t spank, int count, char **words), (*epilog)(spank_t spank, int count, char **words);

/* Slurm's functions, which the plugin finds in the program that loads it. */
#pragma GCC visibility push(default)

spank_context_t spank_context(void)
{
    return context;
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *option)
{
    (void)spank;
    given = option->cb;
    return ESPANK_SUCCESS;
}

spank_err_t spank_option_getopt(spank_t spank, struct spank_option *option, char **text)
{
    static char request[] = "spill";
    (void)spank, (void)option;
    *text = request;
    return ESPANK_SUCCESS;
}

/* Job 7 of user 1000 and group 100. */
spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
    va_list arguments;
    spank_err_t result = ESPANK_SUCCESS;
    (void)spank;
    va_start(arguments, item);
    if (item == S_JOB_ID)
        *va_arg(arguments, uint32_t *) = 7;
    else if (item == S_JOB_UID)
        *va_arg(arguments, uid_t *) = 1000;
    else if (item == S_JOB_GID)
        *va_arg(arguments, gid_t *) = 100;
    else
        result = ESPANK_NOT_AVAIL;
    va_end(arguments);
    return result;
}

/* No test leads to a call of the next three functions, but the plugin cannot be loaded without them. */
spank_err_t spank_getenv(spank_t spank, const char *name, char *out, int size)
{
    (void)spank, (void)name, (void)out, (void)size;
    return ESPANK_NOT_AVAIL;
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
    (void)spank, (void)name, (void)value, (void)overwrite;
    return ESPANK_NOT_TASK;
}

spank_err_t spank_unsetenv(spank_t spank, const char *name)
{
    (void)spank, (void)name;
    return ESPANK_NOT_TASK;
}

void slurm_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(said, sizeof(said), format, arguments);
    va_end(arguments);
}

void slurm_info(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(logged, sizeof(logged), format, arguments);
    va_end(arguments);
}

/* The hook's program leaves a process behind, which keeps the pipe of the program's log. */
static bool leaves_a_process;

static void leave_a_process(void)
{
    for (int fd = STDERR_FILENO + 1; fd < 16; fd++) /* a program that is executed does not have these */
        close(fd);
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    dprintf(STDERR_FILENO, "info: %d\n", (int)pid);
    _exit(pid > 0 ? 0 : 1);
}

/* Replaces the C library's execve. Prints in one line the program, arguments and environment of the hook's child, after
 * a line that is for the hook and not for the log. A child that looks users up knows bob alone. With leaves_a_process
 * it calls leave_a_process() instead. */
int execve(const char *path, char *const arguments[], char *const environment[])
{
    char line[1024];
    const char *name = strrchr(path, '/');
    int used = snprintf(line, sizeof(line), "info: %s:", name ? name + 1 : path);
    if (leaves_a_process)
        leave_a_process();
    if (strcmp(arguments[1], "lookup") == 0)
        _exit(dprintf(STDOUT_FILENO, "1000 100 1 bob\nbobs\n") > 0 ? 0 : 1);
    dprintf(STDERR_FILENO, "limit: 70\n");
    for (int i = 0; arguments[i]; i++)
        used += snprintf(line + used, sizeof(line) - (size_t)used, " %s", arguments[i]);
    used += snprintf(line + used, sizeof(line) - (size_t)used, " in");
    for (int i = 0; environment[i]; i++)
        used += snprintf(line + used, sizeof(line) - (size_t)used, " %s", environment[i]);
    line[used++] = '\n';
    _exit(write(STDERR_FILENO, line, (size_t)used) == used ? 0 : 1);
}

#pragma GCC visibility pop

static int load(void **state)
{
    void *plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!plugin)
        fail_msg("%s", dlerror());
    *(void **)&init = dlsym(plugin, "slurm_spank_init");
    *(void **)&prolog = dlsym(plugin, "slurm_spank_job_prolog");
    *(void **)&epilog = dlsym(plugin, "slurm_spank_job_epilog");
    assert_true(init && prolog && epilog);
    return scratch_make(state);
}

/* Returns what the plugin says of an argument when it is loaded in `context`. The plugin must not fail. */
static const char *load_with(char *word)
{
    said[0] = '\0';
    assert_int_equal(init(NULL, 1, &word), 0);
    return said;
}

static void what_is_wrong_in_the_plugstack_line_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *word, *then;
    } rows[] = {
        {"config=relative.conf", "\"config=relative.conf\": the path must be absolute"},
        {"config=", "\"config=\": the path must be absolute"},
        {"colour=blue", "\"colour=blue\" is not known"},
    };
    for (context = S_CTX_LOCAL; context <= S_CTX_JOB_SCRIPT; context++)
        for (size_t i = 0; i < N_ROWS(rows); i++) {
            char word[64];
            snprintf(word, sizeof(word), "%s", rows[i].word);
            assert_non_null(strstr(load_with(word), rows[i].then));
        }
}

static void a_configuration_that_is_named_must_be_there(void **state)
{
    (void)state;
    char word[256];
    snprintf(word, sizeof(word), "config=%s", scratch_path("other.conf"));
    for (context = S_CTX_LOCAL; context <= S_CTX_JOB_SCRIPT; context++) {
        unlink(word + strlen("config="));
        assert_non_null(strstr(load_with(word), word));
        assert_non_null(strstr(said, "there is no such file: the built-in values are used"));
        scratch_write(word + strlen("config="), "");
        assert_string_equal(load_with(word), "");
    }
}

/* Without a configuration file the built-in values are used, and nothing is reported. */
static void the_built_in_path_need_not_be_there(void **state)
{
    (void)state;
    said[0] = '\0';
    context = S_CTX_REMOTE;
    assert_int_equal(init(NULL, 0, NULL), 0);
    assert_string_equal(said, "");
}

/* slurm.conf may have changed when slurmd starts, and at no other time. */
static void what_slurm_has_said_is_forgotten_when_slurmd_starts(void **state)
{
    (void)state;
    static const char *const folders[] = {"run", "run/root", "run/root/node"};
    char word[256], text[256];
    int n = snprintf(word, sizeof(word), "config=%s", scratch_path("hybridmem.conf"));
    assert_true(n < (int)sizeof(word));
    snprintf(text, sizeof(text), "run_dir = \"%s/run\"\n", scratch);
    scratch_write(word + strlen("config="), text);
    for (size_t i = 0; i < N_ROWS(folders); i++)
        assert_int_equal(mkdir(scratch_path("%s", folders[i]), 0700), 0);
    for (context = S_CTX_LOCAL; context <= S_CTX_JOB_SCRIPT; context++) {
        scratch_write(scratch_path("run/root/node/usable"), "");
        assert_string_equal(load_with(word), "");
        assert_int_equal(access(scratch_path("run/root/node/usable"), F_OK) == 0, context != S_CTX_SLURMD);
    }
}

/* In sbatch, srun and salloc, before there is a job. */
static void what_a_user_may_not_have_is_refused_at_once(void **state)
{
    (void)state;
    static const struct {
        const char *rules, *text, *refusal; /* refusal: a part of it; "": the option is taken */
    } rows[] = {
        {"", "spill", ""},
        {"", "spil", "unknown mode \"spil\""},
        {"user \"bob\" { modes = { \"fast\" } }\n", "fast", ""},
        {"user \"bob\" { modes = { \"fast\" } }\n", "spill", "user \"bob\""},
        {"group \"bobs\" { modes = { \"fast\" } }\n", "spill", "group \"bobs\""},
        {"user \"carol\" { modes = { \"fast\" } }\n", "spill", ""},
        {"enabled = no\nuser \"bob\" { modes = { \"fast\" } }\n", "spill", ""},
    };
    char word[256];
    int n = snprintf(word, sizeof(word), "config=%s", scratch_path("hybridmem.conf"));
    assert_true(n < (int)sizeof(word));
    context = S_CTX_LOCAL;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        scratch_write(word + strlen("config="), rows[i].rules);
        assert_string_equal(load_with(word), "");
        bool is_taken = given(0, rows[i].text, 0) == 0;
        if (is_taken != !rows[i].refusal[0] || !strstr(said, rows[i].refusal))
            fail_msg("row %zu: \"%s\"", i, said);
    }
}

/* The rules may change, and the configuration be wrong, while a job runs: an srun in it passes on the job's option. */
static void the_option_of_a_job_that_runs_is_not_judged_again(void **state)
{
    (void)state;
    static const struct {
        spank_context_t context;
        const char *job, *option, *text; /* option: what the environment passes on */
        bool is_taken;
    } rows[] = {
        {S_CTX_LOCAL, "7", "spill", "spill", true},
        {S_CTX_LOCAL, "7", "spill", "slow", false},      /* of this srun alone */
        {S_CTX_LOCAL, "7", NULL, "spill", false},        /* the same */
        {S_CTX_LOCAL, NULL, "spill", "spill", false},    /* a new job, whose mode the modulefile has set */
        {S_CTX_ALLOCATOR, "7", "spill", "spill", false}, /* the job's script submits a new one */
        {S_CTX_LOCAL, "7", "spil", "spil", false},
    };
    static const char *const wrong[] = {"user \"bob\" { modes = { \"fast\" } }\n", "record = some\n"};
    char word[256];
    int n = snprintf(word, sizeof(word), "config=%s", scratch_path("hybridmem.conf"));
    assert_true(n < (int)sizeof(word));
    for (size_t i = 0; i < N_ROWS(rows) * N_ROWS(wrong); i++) {
        size_t row = i / N_ROWS(wrong);
        scratch_write(word + strlen("config="), wrong[i % N_ROWS(wrong)]);
        context = rows[row].context;
        assert_string_equal(load_with(word), "");
        if (rows[row].job)
            setenv("SLURM_JOB_ID", rows[row].job, 1);
        if (rows[row].option)
            setenv(HM_OPTION_VARIABLE, rows[row].option, 1);
        bool is_taken = given(0, rows[row].text, 0) == 0;
        unsetenv("SLURM_JOB_ID");
        unsetenv(HM_OPTION_VARIABLE);
        if (is_taken != rows[row].is_taken)
            fail_msg("row %zu: \"%s\"", row, said);
    }
}

/* scrontab sends the options of plugins to nobody. */
static void scrontab_takes_no_option_that_it_would_lose(void **state)
{
    (void)state;
    char *own = program_invocation_short_name, scrontab[] = "scrontab", sbatch[] = "sbatch";
    char word[256];
    int n = snprintf(word, sizeof(word), "config=%s", scratch_path("hybridmem.conf"));
    assert_true(n < (int)sizeof(word));
    scratch_write(word + strlen("config="), "");
    context = S_CTX_ALLOCATOR;
    assert_string_equal(load_with(word), "");
    program_invocation_short_name = sbatch;
    assert_int_equal(given(0, "spill", 0), 0);
    program_invocation_short_name = scrontab;
    assert_int_equal(given(0, "spill", 0), -1);
    program_invocation_short_name = own;
    assert_non_null(strstr(said, "--hybrid-mem=spill: scrontab does not send it to Slurm"));
}

#define KEPT "PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C"

/* hybridmem-job gets what slurmd knows of the job by its command line, and of slurmd's environment only SLURM_CONF. */
static void the_hooks_hand_on_what_slurmd_knows(void **state)
{
    (void)state;
    static const char *const variables[][2] = {
        {"SLURM_JOB_USER", "alice"},       {"SLURM_JOB_ACCOUNT", "physics"}, {"SLURM_JOB_PARTITION", "batch"},
        {"SLURM_CLUSTER_NAME", "c1"},      {"SLURMD_NODENAME", "n1"},        {"SLURM_JOB_RESTART_COUNT", "2"},
        {"SLURM_HET_JOB_ID", "6"},         {"SLURM_JOB_END_TIME", "900"},    {"SLURM_JOB_EXIT_CODE", "256"},
        {"SLURM_CONF", "/etc/slurm.conf"}, {"SPANK_OF_THE_USER", "secret"},
    };
    char word[256], expected[1024];
    char *words[] = {word};
    int n = snprintf(word, sizeof(word), "config=%s", scratch_path("hybridmem.conf"));
    const char *config = word + strlen("config=");
    assert_true(n < (int)sizeof(word));
    scratch_write(config, "");
    context = S_CTX_JOB_SCRIPT;
    for (size_t i = 0; i < N_ROWS(variables); i++)
        setenv(variables[i][0], variables[i][1], 1);
    said[0] = '\0';
    assert_int_equal(prolog(NULL, 1, words), 0);
    assert_string_equal(said, "");
    snprintf(expected, sizeof(expected),
             "hybridmem: hybridmem-job: hybridmem-job begin --config %s --job 7 --uid 1000 --gid 100 --request spill "
             "--user alice --account physics --partition batch --cluster c1 --node n1 --restart 2 --het-job 6 "
             "--end-time 900 in " KEPT " SLURM_CONF=/etc/slurm.conf",
             config);
    assert_string_equal(logged, expected);
    assert_int_equal(epilog(NULL, 1, words), 0);
    snprintf(expected, sizeof(expected),
             "hybridmem: hybridmem-job: hybridmem-job end --config %s --job 7 --cluster c1 --exit-status 256 in " KEPT
             " SLURM_CONF=/etc/slurm.conf",
             config);
    assert_string_equal(logged, expected);
    for (size_t i = 0; i < N_ROWS(variables); i++)
        unsetenv(variables[i][0]);
    assert_int_equal(epilog(NULL, 1, words), 0);
    snprintf(expected, sizeof(expected), "hybridmem: hybridmem-job: hybridmem-job end --config %s --job 7 in " KEPT,
             config);
    assert_string_equal(logged, expected);
}

/* The hook ends with its program, even if another process holds the program's standard error. */
static void a_process_that_is_left_behind_holds_no_hook(void **state)
{
    (void)state;
    int pid = 0;
    leaves_a_process = true;
    alarm(20); /* if the hook waits for that process, SIGALRM ends this test program */
    assert_int_equal(epilog(NULL, 0, NULL), 0);
    alarm(0);
    leaves_a_process = false;
    assert_int_equal(sscanf(logged, "hybridmem: %d", &pid), 1);
    assert_true(pid > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_in_the_plugstack_line_is_named),
        cmocka_unit_test(a_configuration_that_is_named_must_be_there),
        cmocka_unit_test(the_built_in_path_need_not_be_there),
        cmocka_unit_test(what_slurm_has_said_is_forgotten_when_slurmd_starts),
        cmocka_unit_test(what_a_user_may_not_have_is_refused_at_once),
        cmocka_unit_test(the_option_of_a_job_that_runs_is_not_judged_again),
        cmocka_unit_test(scrontab_takes_no_option_that_it_would_lose),
        cmocka_unit_test(the_hooks_hand_on_what_slurmd_knows),
        cmocka_unit_test(a_process_that_is_left_behind_holds_no_hook),
    };
    return cmocka_run_group_tests(tests, load, scratch_drop);
}
