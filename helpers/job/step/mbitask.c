/* SPDX-License-Identifier: Apache-2.0 */
#include "mbitask.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/installed.h"
#include "core/apply/policy.h"
#include "profiled.h"
#include "sitesprogram.h"
#include "taskparts.h"

#define PATIENCE_MS 70000 /* for the task that starts the counting; sitesprogram.c has less */
#define PAUSE_NS 5000000L

/* What outcome->counting says. 0 and 2 are as in hm_outcome_begin_part. */
enum { COUNTS = 1, STARTS = 2, UNMEASURED = 3, REFUSED = 4 };

/* ---------------------------------------------------------- what the program prints */

static int take_line(void *data, const char *key, const char *value)
{
    struct hm_mbitask_start *start = data;
    if (strcmp(key, HM_ISOLATE_GUIDE) == 0) {
        size_t length = strlen(value);
        if (length == 0 || length >= sizeof(start->text))
            return -1;
        memcpy(start->text, value, length + 1);
        return 0;
    }
    if (strcmp(key, "nodes") == 0)
        return hm_set_parse(&start->nodes, value, NULL) == 0 && !hm_set_is_empty(&start->nodes) ? 0 : -1;
    if (strcmp(key, "counter") != 0)
        return 0; /* of a later version */
    return hm_sitesprogram_take_pid(value, &start->pid);
}

int hm_mbitask_parse(char *printed, struct hm_mbitask_start *start)
{
    *start = (struct hm_mbitask_start){.pid = 0};
    if (hm_sitesprogram_parse(printed, take_line, start) < 0)
        return -1;
    return !start->text[0] == hm_set_is_empty(&start->nodes) ? 0 : -1;
}

/* ---------------------------------------------------------- is there a run for the step? */

const char *hm_mbitask_judge(const struct hm_request *request, uint32_t array_task_id, uint32_t n_nodes, bool is_alone,
                             struct hm_error *error)
{
    if (array_task_id == HM_NO_ID)
        hm_fail(error, EINVAL,
                "--hybrid-mem=%.48s: each task of a job array measures one run of the plan, and this job is no such "
                "task: submit it with sbatch --exclusive --array=$(hybridmem profile mbi status --array %.200s)",
                request->text, request->profile.plan);
    else if (n_nodes > 1)
        hm_fail(error, EINVAL, "--hybrid-mem=%.48s: a run is measured on one node, and this step has %u: use --nodes=1",
                request->text, n_nodes);
    else if (!is_alone)
        hm_fail(
            error, EBUSY,
            "--hybrid-mem=%.48s: the node's counters are those of all its jobs, and this job does not have the node "
            "to itself: submit it with --exclusive",
            request->text);
    else
        return NULL;
    return error->text;
}

/* ---------------------------------------------------------- a task */

/* Asks what the task needs. Returns 0, with a text in `said` where the task is not measured, or -1 with a text. */
static int ask(const struct hm_step *step, const struct hm_environment *environment, bool counts,
               struct hm_mbitask_start *start, char said[HM_ERROR_TEXT], struct hm_error *error)
{
    static char printed[HM_GUIDED_TEXT + 4096];
    char folder[PATH_MAX], program[PATH_MAX], run[16];
    const char *words[10] = {"hybridmem-profile", "mbi", "task"};
    int n = 3;
    if (access(hm_guide_library(), R_OK) != 0)
        return hm_fail_errno(error, "%s", hm_guide_library());
    if (hm_sitesprogram_name(environment, program, error) < 0 ||
        hm_sitesprogram_absolute(step->request.profile.plan, folder, error) < 0)
        return -1;
    snprintf(run, sizeof(run), "%u", step->array_task_id);
    if (counts)
        words[n++] = "--count";
    words[n++] = folder;
    words[n++] = run;
    words[n++] = program;
    if (hm_sitesprogram_run(environment, words, step->results, printed, sizeof(printed), said, error) < 0)
        return -1;
    if (hm_mbitask_parse(printed, start) < 0 || (counts && start->text[0] && start->pid == 0))
        return hm_fail(error, EBADMSG, "hybridmem-profile has printed what this version does not know");
    if (!start->text[0] && !said[0])
        snprintf(said, HM_ERROR_TEXT, "its program is not measured");
    return 0;
}

static uint32_t wait_for_first(struct hm_outcome *outcome)
{
    int64_t end_ms = hm_clock_ms(CLOCK_MONOTONIC) + PATIENCE_MS;
    uint32_t counting;
    while ((counting = __atomic_load_n(&outcome->counting, __ATOMIC_ACQUIRE)) == STARTS &&
           hm_clock_ms(CLOCK_MONOTONIC) < end_ms)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    return counting;
}

static int enter(const struct hm_step *step, struct hm_outcome *outcome, const struct hm_environment *environment,
                 const struct hm_mbitask_start *start, struct hm_error *error)
{
    static struct hm_plan plan;
    if (hm_task_resolve(step, &step->request, &plan, error) != 0)
        return -1;
    plan.policy = HM_POLICY_INTERLEAVE;
    plan.nodes = start->nodes;
    hm_outcome_keep_plan(outcome, &plan);
    return hm_policy_apply(&plan, error) == 0 ? hm_isolate_enter_guided(environment, start->text, step->job_id, error)
                                              : -1;
}

/* The first task of the step on the node. The others wait for what comes of it. */
static int place_first(const struct hm_step *step, struct hm_outcome *outcome, const struct hm_environment *environment,
                       struct hm_mbitask_start *start, struct hm_error *error)
{
    char said[HM_ERROR_TEXT] = "";
    int status = ask(step, environment, true, start, said, error);
    uint32_t counting = status < 0 ? REFUSED : start->text[0] ? COUNTS : UNMEASURED;
    if (counting == COUNTS)
        hm_profiled_note(outcome, start->pid);
    if (counting != COUNTS)
        hm_profiled_leave(outcome, status < 0 ? error->text : said);
    if (counting == UNMEASURED)
        hm_task_say(said);
    __atomic_store_n(&outcome->counting, counting, __ATOMIC_RELEASE);
    return status;
}

int hm_mbitask_place(const struct hm_step *step, struct hm_outcome *outcome, const struct hm_environment *environment,
                     struct hm_error *error)
{
    static struct hm_mbitask_start start;
    char said[HM_ERROR_TEXT] = "";
    if (!outcome || step->results <= 0)
        return hm_fail(error, ENOMEM, "no memory for the result of the run");
    if (hm_step_is_script(step->step_id)) {
        hm_profiled_leave(outcome, "a job's script or shell is not measured: what it starts by srun is");
        return 0;
    }
    if (hm_outcome_begin_part(&outcome->counting)) {
        if (place_first(step, outcome, environment, &start, error) < 0)
            return -1;
    } else {
        uint32_t counting = wait_for_first(outcome);
        if (counting == REFUSED || counting == STARTS)
            return hm_fail(error, EIO, "the run cannot be measured");
        if (counting == UNMEASURED)
            return 0;
        if (ask(step, environment, false, &start, said, error) < 0)
            return -1;
    }
    return start.text[0] ? enter(step, outcome, environment, &start, error) : 0;
}
