/* SPDX-License-Identifier: Apache-2.0 */
#include "task.h"

#include <errno.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/size.h"
#include "core/apply/policy.h"
#include "guidedtask.h"
#include "job/namespaces/daxmount.h"
#include "job/node/mongroup.h"
#include "job/programs/migrator.h"
#include "mbitask.h"
#include "outcomeentry.h"
#include "profiled.h"
#include "taskparts.h"

/* Says why the task must not run. `is_known`: the ledger has the reason already. Returns -1. */
static int refuse(struct hm_outcome *outcome, const char *text, bool is_known)
{
    if (hm_outcome_is_first(outcome ? &outcome->said_refusal : NULL)) {
        hm_task_say(text);
        if (!is_known)
            hm_outcome_warn(outcome, "a task was refused: %s", text);
    }
    return -1;
}

static bool has_policy_of_its_own(const struct hm_step *step)
{
    struct hm_memory_policy policy;
    hm_memory_policy_get(&policy);
    return policy.mode != MPOL_DEFAULT &&
           (policy.mode != step->inherited.mode || !hm_set_equal(&policy.nodes, &step->inherited.nodes));
}

/*
 * Applies the plan to this process, and to the environment of the program that it becomes. A guided plan may become
 * another one. Returns 0, or -1 with a text.
 */
static int apply(const struct hm_step *step, struct hm_outcome *outcome, struct hm_plan *plan,
                 const struct hm_environment *environment, struct hm_error *error)
{
    if (hm_request_wants(&plan->request, HM_WANTS_GUIDE))
        return hm_guidedtask_place(step, outcome, plan, environment, error);
    hm_outcome_keep_plan(outcome, plan);
    if (hm_policy_apply(plan, error) != 0)
        return -1;
    if (!hm_request_wants(&plan->request, HM_WANTS_PRELOAD))
        return 0;
    if (!hm_isolate_breaks(environment, error))
        return hm_isolate_enter(environment, plan, &step->tiers.topology, step->job_id, error);
    if (hm_outcome_is_first(outcome ? &outcome->said_unguided : NULL)) {
        hm_outcome_warn(outcome, "%s", error->text);
        if (!hm_step_is_script(step->step_id))
            hm_task_say(error->text);
    }
    return 0;
}

void hm_task_mount(struct hm_step *step)
{
    struct hm_error error = {0};
    if (step->refusal[0] || hm_daxmount(&step->config, step->job_id, &step->namespaces, &error) == 0)
        return;
    hm_text_copy(step->mount_error, error.text, sizeof(step->mount_error));
}

void hm_task_join(const struct hm_step *step, struct hm_outcome *outcome)
{
    struct hm_error error = {0};
    if (!hm_mongroup_is_whole(&step->mongroup) ||
        hm_mongroup_enter(&step->config, step->job_id, &step->mongroup, &error) == 0)
        return;
    if (!hm_outcome_is_first(outcome ? &outcome->said_outside : NULL))
        return;
    hm_mongroup_remove(&step->config, step->job_id, step->uid, &step->mongroup, NULL);
    if (outcome) {
        hm_text_copy(outcome->outside, error.text, sizeof(outcome->outside));
        __atomic_store_n(&outcome->is_outside, 1, __ATOMIC_RELEASE);
    }
}

/* Returns 0, or -1: the task must not run, and a line says why. */
static int place_mbi(const struct hm_step *step, struct hm_outcome *outcome, const struct hm_environment *environment)
{
    struct hm_error error = {0};
    if (has_policy_of_its_own(step))
        return refuse(outcome, "--mem-bind is set, and method=mbi places memory itself: leave it out", false);
    return hm_mbitask_place(step, outcome, environment, &error) == 0 ? 0 : refuse(outcome, error.text, false);
}

int hm_task_place(const struct hm_step *step, struct hm_outcome *outcome, const struct hm_environment *environment)
{
    struct hm_plan plan = {0};
    struct hm_error error = {0};
    if (step->config.enabled && hm_isolate_leave(environment, &error) != 0)
        hm_outcome_warn(outcome, "%s", error.text);
    if (step->mount_error[0])
        return refuse(outcome, step->mount_error, false);
    if (!step->is_active)
        return 0;
    if (step->refusal[0])
        return refuse(outcome, step->refusal, true);
    if (hm_request_is_mbi(&step->request))
        return place_mbi(step, outcome, environment);
    if (step->request.mode == HM_MODE_PROFILE)
        (void)hm_profiled_begin(step, NULL, outcome, environment, &error);
    if (!hm_request_wants(&step->request, HM_WANTS_PLACEMENT))
        return 0;
    if (has_policy_of_its_own(step)) {
        const char *text = "--mem-bind is set: it decides where memory goes, and --hybrid-mem does not";
        hm_migrator_dismiss(&step->migrator);
        if (hm_outcome_is_first(outcome ? &outcome->said_binding : NULL)) {
            hm_task_say(text);
            hm_outcome_warn(outcome, "%s", text);
        }
        return 0;
    }
    if (hm_task_resolve(step, &step->request, &plan, &error) == 0 &&
        apply(step, outcome, &plan, environment, &error) == 0)
        return 0;
    if (step->is_asked)
        return refuse(outcome, error.text, false);
    if (hm_outcome_is_first(outcome ? &outcome->said_refusal : NULL))
        hm_outcome_warn(outcome, "a task runs without the partition's default mode: %s", error.text);
    return 0;
}

/*
 * Reads the peak of the job's memory, while its cgroup still exists. 0: it is not known. Do not hold the lock: the
 * job's user can hold the lock that the kernel has for the cgroup's folder.
 */
static uint64_t read_peak(const struct hm_step *step)
{
    char path[HM_JOB_CGROUP + 16], text[32];
    uint64_t peak;
    snprintf(path, sizeof(path), "%s/memory.peak", step->cgroup);
    return step->cgroup[0] && hm_file_read(path, text, sizeof(text), NULL) == 0 &&
                   hm_size_parse_number(text, 0, UINT64_MAX, &peak, NULL) == 0
               ? peak
               : 0;
}

static void note_status(const struct hm_step *step, struct hm_job *job, int status)
{
    bool is_batch = step->step_id == HM_STEP_BATCH;
    if (!is_batch && (job->exit_status_is_final || (job->has_exit_status && status <= job->exit_status)))
        return;
    job->exit_status = status;
    job->exit_status_is_final = is_batch;
    job->has_exit_status = true;
}

int hm_task_ended(const struct hm_step *step, struct hm_outcome *outcome, int status, struct hm_error *error)
{
    int result = -1;
    struct hm_error late = {0};
    if (!outcome || !step->config.enabled)
        return 0;
    bool is_last = ++outcome->n_ended >= step->n_tasks;
    uint32_t count = __atomic_load_n(&outcome->n_warnings, __ATOMIC_ACQUIRE);
    if (!is_last && outcome->n_stored == count + 1 && outcome->has_status && status <= outcome->status)
        return 0;
    if (outcome->is_shut && outcome->unstored > status)
        status = outcome->unstored;
    if (outcome->is_shut && !is_last) {
        outcome->unstored = status;
        return 0;
    }
    /*
     * The lock is not held for this, as it may take long. A migrator that cannot be stopped here ends when the tasks'
     * cgroup is empty (--guard).
     */
    if (is_last && hm_migrator_stop(&step->migrator, &late) != 0)
        hm_outcome_warn(outcome, "%s", late.text);
    struct hm_profiled profiled = {.is_known = false};
    if (is_last && hm_request_wants(&step->request, HM_WANTS_PROFILE) && step->is_active)
        hm_profiled_end(step, outcome, outcome->has_status && outcome->status > status ? outcome->status : status,
                        &profiled);
    uint64_t peak = is_last ? read_peak(step) : 0;
    int lock = hm_ledger_lock(&step->config, error);
    struct hm_job *job = lock < 0 ? NULL : malloc(sizeof(*job));
    if (lock < 0) {
        outcome->is_shut = 1;
        outcome->unstored = status;
    }
    if (lock >= 0 && !job)
        hm_fail(error, ENOMEM, "no memory for the ledger's entry");
    if (!job || hm_ledger_read(&step->config, step->job_id, job, error) != 0)
        goto done;
    hm_outcome_collect(outcome, step, job);
    note_status(step, job, status);
    if (profiled.is_known)
        hm_outcome_note_profile(&profiled, step, job);
    if (is_last) {
        job->memory_peak = peak > job->memory_peak ? peak : job->memory_peak;
        hm_outcome_note_mixed(outcome, step, job);
        if (hm_migrator_collect(&step->config, job, step->step_id, &late) != 0)
            hm_job_warn(job, "%s", late.text);
    }
    result = hm_ledger_write(&step->config, job, error);
    if (result != 0)
        goto done;
    outcome->n_stored = count + 1;
    outcome->status = outcome->has_status && outcome->status > status ? outcome->status : status;
    outcome->has_status = 1;
done:
    hm_ledger_unlock(lock);
    free(job);
    return result;
}
