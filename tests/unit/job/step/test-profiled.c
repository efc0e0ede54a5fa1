/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what slurmstepd and a task that is profiled read of the recorder. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/ended.h"
#include "base/fields.h"
#include "job/ledger/table.h"
#include "job/step/mbitask.h"
#include "job/step/outcomeentry.h"
#include "job/step/profiled.h"
#include "slurm/stepname.h"
#include "unit/lib/rows.h"

#define FILE_LINE "profile /home/a/x.json\n"
#define PID_LINE "recorder 42\n"
#define FOLDER_LINE "HYBRIDMEM_SITES /dev/shm/hybridmem-sites.abcdef\n"

static struct hm_profiled_start start;

static int parse(const char *printed)
{
    static char copy[8192];
    snprintf(copy, sizeof(copy), "%s", printed);
    return hm_profiled_parse(copy, &start);
}

static void test_a_recorder_that_has_started(void **state)
{
    (void)state;
    assert_int_equal(parse(FILE_LINE PID_LINE "later words\n" FOLDER_LINE), 0);
    assert_string_equal(start.file, "/home/a/x.json");
    assert_string_equal(start.folder, "/dev/shm/hybridmem-sites.abcdef");
    assert_int_equal(start.pid, 42);
}

static const char *const wrong[] = {
    "",
    FILE_LINE PID_LINE,
    FILE_LINE FOLDER_LINE,
    PID_LINE FOLDER_LINE,
    "profile x.json\n" PID_LINE FOLDER_LINE,
    FILE_LINE FOLDER_LINE "recorder 0\n",
    FILE_LINE FOLDER_LINE "recorder 4294967338\n",
    FILE_LINE PID_LINE FOLDER_LINE "word\n",
};

static void test_what_is_none_of_ours(void **state)
{
    char folder[HM_PROFILED_FOLDER + 64];
    (void)state;
    for (size_t i = 0; i < N_ROWS(wrong); i++)
        assert_int_equal(parse(wrong[i]), -1);
    snprintf(folder, sizeof(folder), FILE_LINE PID_LINE "HYBRIDMEM_SITES /%0*d\n", HM_PROFILED_FOLDER, 7);
    assert_int_equal(parse(folder), -1);
}

/* Lines that recorders have left, how many recorders there were, and what it comes to. */
static const struct {
    const char *results;
    uint32_t n;
    const char *file, *why;
    uint64_t period;
    const char *unrated, *unsampled;
} ends[] = {
    {"", 2, "", "2 of 2 recorders on this node left no profile", 0, "", ""},
    {"profile /a\nprofile /a\n", 2, "/a", "", 0, "", ""},
    {"profile /a\n", 3, "/a", "2 of 3 recorders on this node left no profile", 0, "", ""},
    {"profile /a\nfailed no space\n", 2, "/a", "no space", 0, "", ""},
    {"failed no space\nfailed other\n", 2, "", "no space", 0, "", ""},
    {"profile a\n", 1, "", "", 0, "", ""},
    {"made up\n\n\nprofile", 1, "", "1 of 1 recorders on this node left no profile", 0, "", ""},
    {"period 4096\nprofile /a\n", 1, "/a", "", 4096, "", ""},
    {"unrated by time\nprofile /a\nperiod 0\nfailed no space\n", 2, "/a", "no space", 0, "by time", ""},
    {"unsampled perf: no\nprofile /a\nunsampled too short\nprofile /a\n", 2, "/a", "", 0, "", "perf: no"},
    {"unsampled too short\nprofile /a\nprofile /a\n", 2, "/a", "", 0, "", ""},
    {"period x\nprofile /a\n", 1, "/a", "", 0, "", ""},
    {"guided phases=1\nprofile /a\n", 1, "/a", "", 0, "", ""},
    {"guided phases=1\n", 1, "", "1 of 1 recorders on this node left no profile", 0, "", ""},
};

static void test_what_guidance_online_has_left(void **state)
{
    struct hm_guided guided = {.is_known = true};
    (void)state;
    assert_false(hm_profiled_read_guided("profile /a\n", &guided));
    assert_true(hm_profiled_read_guided(
        "profile /a\n"
        "guided packer=gain phases=3 promoted_bytes=10 demoted_bytes=4 fast_bytes=8 limit_bytes=9 samples=99 "
        "source=clock expected_share=0.75 seen_share=7 later=1 site_count=2 sites=a1,b2\n"
        "guided packer=other phases=5 promoted_bytes=1 demoted_bytes=2 why=none\n",
        &guided));
    assert_string_equal(guided.packer, "gain");
    assert_string_equal(guided.source, "clock");
    assert_string_equal(guided.why, "");
    assert_int_equal(guided.decisions, 3);
    assert_int_equal(guided.promoted_bytes, 11);
    assert_int_equal(guided.demoted_bytes, 6);
    assert_int_equal(guided.fast_bytes, 8);
    assert_int_equal(guided.limit_bytes, 9);
    assert_int_equal(guided.samples, 99);
    assert_true(guided.expected_share == 0.75 && guided.seen_share == 0);
    assert_int_equal(guided.n_sites, 2);
    assert_true(guided.site[0] == 0xa1 && guided.site[1] == 0xb2);
    assert_true(
        hm_profiled_read_guided("guided site_count=9999 seen_share=nan packer=a_name_that_is_longer_than_any why=no "
                                "evidence: it",
                                &guided));
    assert_string_equal(guided.why, "no evidence: it");
    assert_int_equal(hm_fields_check(hm_guided_table, &guided, NULL), 0);
}

/* Users can fill the file: slurmstepd is not busy for minutes then. */
static void test_a_file_of_short_lines_is_read_once(void **state)
{
    static char results[HM_OUTCOME_RECORDERS * HM_PROFILED_RESULT + 1];
    static const char line[] = "guided \n", last[] = "guided promoted_bytes=3 demoted_bytes=4\n";
    struct hm_guided guided = {.is_known = true};
    (void)state;
    size_t used = 0;
    for (; used + strlen(line) + strlen(last) < sizeof(results); used += strlen(line))
        memcpy(results + used, line, sizeof(line));
    memcpy(results + used, last, sizeof(last));
    assert_true(hm_profiled_read_guided(results, &guided));
    assert_int_equal(guided.promoted_bytes, 3);
    assert_int_equal(guided.demoted_bytes, 4);
}

static void test_how_it_went(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(ends); i++) {
        struct hm_profiled profiled = {.is_known = true};
        hm_profiled_judge(ends[i].results, ends[i].n, &profiled);
        assert_string_equal(profiled.file, ends[i].file);
        assert_string_equal(profiled.why, ends[i].why);
        assert_int_equal(profiled.period, ends[i].period);
        assert_string_equal(profiled.unrated, ends[i].unrated);
        assert_string_equal(profiled.unsampled, ends[i].unsampled);
        assert_int_equal(hm_fields_check(hm_profiled_table, &profiled, NULL), 0);
    }
}

/* Users write to the file: they cannot make it longer, nor cut it off. */
static void test_the_file_of_results_keeps_its_size(void **state)
{
    (void)state;
    int fd = hm_profiled_open_results();
    assert_true(fd >= 0);
    off_t size = lseek(fd, 0, SEEK_END);
    assert_int_equal(pwrite(fd, "x", 1, size), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(pwrite(fd, "x", 1, size - 1), 1);
    close(fd);
}

/* There is room for the longest lines of all recorders, and what the last one says is read, too. */
static void test_all_recorders_have_room(void **state)
{
    static struct hm_outcome outcome;
    static struct hm_step step;
    static char lines[HM_PROFILED_RESULT + 1];
    struct hm_profiled profiled;
    off_t end = 0;
    (void)state;
    char guided[HM_PROFILED_GUIDED] = "", why[HM_WARNING] = "", path[HM_CONFIG_PATH_MAX] = "/";
    memset(guided, 'g', sizeof(guided) - 2 - strlen("guided "));
    memset(why, 'w', sizeof(why) - 1);
    memset(path + 1, 'p', sizeof(path) - 2);
    step.results = hm_profiled_open_results();
    for (unsigned i = 1; i <= HM_OUTCOME_RECORDERS; i++) {
        bool is_last = i == HM_OUTCOME_RECORDERS;
        int length =
            snprintf(lines, sizeof(lines), "guided %s\nperiod %llu\nunrated %s\n%s%s\n", guided,
                     (unsigned long long)UINT64_MAX, why, is_last ? "failed last" : "profile ", is_last ? "" : path);
        assert_true(length < (int)sizeof(lines));
        assert_int_equal(pwrite(step.results, lines, (size_t)length, end), length);
        end += length;
    }
    outcome.n_recorders = HM_OUTCOME_RECORDERS;
    hm_profiled_end(&step, &outcome, 0, &profiled);
    assert_string_equal(profiled.file, path);
    assert_string_equal(profiled.why, "last");
    assert_string_equal(profiled.unrated, why);
    close(step.results);
}

/* Of a run that nobody has counted to its end, the record says so. */
static void test_a_run_without_a_result_is_told(void **state)
{
    static struct hm_outcome outcome;
    static struct hm_step step;
    struct hm_profiled profiled;
    int status = 0;
    (void)state;
    assert_int_equal(hm_request_parse("profile,method=mbi,plan=app.mbi", &step.request, NULL), 0);
    step.results = hm_profiled_open_results();
    step.array_task_id = 7;
    outcome.n_recorders = 1;
    hm_profiled_end(&step, &outcome, 3 << 8, &profiled);
    assert_true(hm_ended_is_told(step.results, &status));
    assert_int_equal(status, 3 << 8);
    assert_int_equal(profiled.run, 7);
    assert_string_equal(profiled.plan, "app.mbi");
    assert_string_equal(profiled.why, "1 of 1 processes that count on this node left no result");
    assert_int_equal(pwrite(step.results, "counted all\n", 12, 0), 12);
    hm_profiled_end(&step, &outcome, 0, &profiled);
    assert_string_equal(profiled.why, "");
    close(step.results);
}

/* A step's tasks can note any process as a recorder. The end of the step waits for none that is another user's, or
 * another job's; a recorder of its own that is stopped goes on. */
static void test_only_recorders_of_the_job_are_waited_for(void **state)
{
    static const struct {
        unsigned other_uid;
        const char *cgroup;
        bool is_own;
    } rows[] = {{1, "", false}, {0, "/sys/fs/cgroup/none/job_7", false}, {0, "", true}};
    static struct hm_outcome outcome;
    static struct hm_step step;
    struct hm_profiled profiled;
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            raise(SIGSTOP);
            _exit(7);
        }
        assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
        assert_int_equal(hm_process_identify(pid, &outcome.recorder[0]), 0);
        outcome.n_recorders = 1;
        step.uid = getuid() + rows[i].other_uid;
        snprintf(step.cgroup, sizeof(step.cgroup), "%s", rows[i].cgroup);
        int64_t begin_ms = hm_clock_ms(CLOCK_MONOTONIC);
        hm_profiled_end(&step, &outcome, 0, &profiled);
        int64_t took_ms = hm_clock_ms(CLOCK_MONOTONIC) - begin_ms;
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(took_ms < 20000);
        assert_int_equal(WIFEXITED(status), rows[i].is_own);
    }
}

/* Where the recorder of one task has left a profile, and another task had none, the profile is not of all. */
static void test_a_task_without_a_recorder_is_told(void **state)
{
    static struct hm_outcome outcome;
    static struct hm_step step;
    struct hm_profiled profiled;
    (void)state;
    step.results = hm_profiled_open_results();
    outcome.n_recorders = 1;
    assert_int_equal(pwrite(step.results, "profile /a\n", 11, 0), 11);
    hm_profiled_end(&step, &outcome, 0, &profiled);
    assert_string_equal(profiled.file, "/a");
    assert_string_equal(profiled.why, "");
    outcome.n_begun = 3; /* two were killed with their tasks, before they had started */
    hm_profiled_end(&step, &outcome, 0, &profiled);
    assert_string_equal(profiled.why, "2 of 3 recorders on this node left no profile");
    snprintf(outcome.unprofiled, sizeof(outcome.unprofiled), "a script");
    outcome.has_unprofiled = 1;
    hm_profiled_end(&step, &outcome, 0, &profiled);
    assert_string_equal(profiled.file, "/a");
    assert_string_equal(profiled.why, "a script");
    close(step.results);
}

/* What steps say one after the other, each with its file or why it has none; and which of it the record has. */
static const struct {
    uint32_t step_id;
    const char *file, *why, *kept;
} steps[] = {
    {HM_STEP_BATCH, "", "a script", "a script"}, {0, "", "no space", "no space"},
    {1, "", "it is static", "it is static"},     {HM_STEP_BATCH, "", "a script", "it is static"},
    {2, "/a/7.2.json", "", "/a/7.2.json"},       {3, "/a/7.3.json", "", "/a/7.2.json"},
    {4, "", "no space", "/a/7.2.json"},          {HM_STEP_INTERACTIVE, "", "a shell", "/a/7.2.json"},
};

static void test_the_first_profile_is_noted_and_a_script_last(void **state)
{
    static struct hm_job job;
    static struct hm_step step;
    (void)state;
    for (size_t i = 0; i < N_ROWS(steps); i++) {
        struct hm_profiled profiled = {.is_known = true};
        snprintf(profiled.file, sizeof(profiled.file), "%s", steps[i].file);
        snprintf(profiled.why, sizeof(profiled.why), "%s", steps[i].why);
        step.step_id = steps[i].step_id;
        hm_outcome_note_profile(&profiled, &step, &job);
        assert_string_equal(job.profiled.file[0] ? job.profiled.file : job.profiled.why, steps[i].kept);
    }
    memset(&job, 0, sizeof(job));
    struct hm_profiled made_up = {.is_known = true};
    memset(made_up.why, 'x', sizeof(made_up.why));
    hm_outcome_note_profile(&made_up, &step, &job);
    assert_false(job.profiled.is_known);
}

/* Of method=mbi: is there one run, one node, and no other job? */
static const struct {
    uint32_t array_task_id, n_nodes;
    bool is_alone;
    const char *why; /* a part of it; NULL: it can be measured */
} runs[] = {
    {7, 1, true, NULL},
    {HM_NO_ID, 1, true, "--array=$(hybridmem profile mbi status --array app.mbi)"},
    {7, 2, true, "this step has 2: use --nodes=1"},
    {7, 1, false, "submit it with --exclusive"},
};

static void test_what_a_run_needs(void **state)
{
    struct hm_request request;
    (void)state;
    assert_int_equal(hm_request_parse("profile,method=mbi,plan=app.mbi", &request, NULL), 0);
    for (size_t i = 0; i < N_ROWS(runs); i++) {
        struct hm_error error = {""};
        const char *why = hm_mbitask_judge(&request, runs[i].array_task_id, runs[i].n_nodes, runs[i].is_alone, &error);
        assert_int_equal(why == NULL, runs[i].why == NULL);
        assert_true(!why || strstr(why, runs[i].why));
    }
}

static void test_the_end_of_a_step_is_told(void **state)
{
    int status = -1, fd = hm_profiled_open_results();
    (void)state;
    assert_false(hm_ended_is_told(fd, &status));
    assert_int_equal(hm_ended_tell(fd, 3 << 8), 0);
    assert_true(hm_ended_is_told(fd, &status));
    assert_int_equal(status, 3 << 8);
    close(fd);
}

/* What a task of a run is told, and whether it is as it should be. */
static void test_what_a_task_of_a_run_needs(void **state)
{
    static struct hm_mbitask_start told;
    char right[] = "HYBRIDMEM_GUIDE fast=2@0 sites=a1\nlater words\nnodes 0-1\ncounter 42\n", nothing[] = "";
    char no_nodes[] = "HYBRIDMEM_GUIDE fast=2@0 sites=a1\n", no_pid[] = "counter 0\n";
    (void)state;
    assert_int_equal(hm_mbitask_parse(right, &told), 0);
    assert_string_equal(told.text, "fast=2@0 sites=a1");
    assert_int_equal(hm_set_count(&told.nodes), 2);
    assert_int_equal(told.pid, 42);
    assert_int_equal(hm_mbitask_parse(nothing, &told), 0);
    assert_string_equal(told.text, "");
    assert_int_equal(hm_mbitask_parse(no_nodes, &told), -1);
    assert_int_equal(hm_mbitask_parse(no_pid, &told), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_recorder_that_has_started),
        cmocka_unit_test(test_what_is_none_of_ours),
        cmocka_unit_test(test_what_guidance_online_has_left),
        cmocka_unit_test(test_a_file_of_short_lines_is_read_once),
        cmocka_unit_test(test_how_it_went),
        cmocka_unit_test(test_what_a_run_needs),
        cmocka_unit_test(test_the_end_of_a_step_is_told),
        cmocka_unit_test(test_what_a_task_of_a_run_needs),
        cmocka_unit_test(test_a_task_without_a_recorder_is_told),
        cmocka_unit_test(test_only_recorders_of_the_job_are_waited_for),
        cmocka_unit_test(test_the_first_profile_is_noted_and_a_script_last),
        cmocka_unit_test(test_the_file_of_results_keeps_its_size),
        cmocka_unit_test(test_all_recorders_have_room),
        cmocka_unit_test(test_a_run_without_a_result_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
