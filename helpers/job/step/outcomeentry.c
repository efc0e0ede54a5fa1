/* SPDX-License-Identifier: Apache-2.0 */
#include "outcomeentry.h"

#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "core/plan/table.h"
#include "job/ledger/table.h"

/*
 * Is what a step says to be noted, where `is_known` something is already? The first step that has succeeded counts,
 * then the last that has not; that of the job's script or shell only if there is nothing else.
 */
static bool is_noted(const struct hm_step *step, bool is_known, bool has_succeeded)
{
    return !is_known || (!has_succeeded && !hm_step_is_script(step->step_id));
}

static void collect_guided(const struct hm_outcome *outcome, struct hm_job *job, const struct hm_step *step)
{
    static struct hm_guided guided; /* a copy, as tasks can write to the other */
    /* A script ends first where the job is cancelled, and is guided by any profile that is named, for what it starts.
     */
    bool has_succeeded = !job->guided.why[0] && !hm_step_is_script(job->guided.step_id);
    if (__atomic_load_n(&outcome->has_guided, __ATOMIC_ACQUIRE) != 1 ||
        !is_noted(step, job->guided.is_known, has_succeeded))
        return;
    guided = outcome->guided;
    if (hm_fields_check(hm_guided_table, &guided, NULL) == 0)
        job->guided = guided;
}

void hm_outcome_note_mixed(const struct hm_outcome *outcome, const struct hm_step *step, struct hm_job *job)
{
    char name[16];
    uint32_t n_guided = outcome->n_guided, n_unguided = outcome->n_unguided;
    if (n_guided > 0 && n_unguided > 0 && (uint64_t)n_guided + n_unguided <= step->n_tasks)
        hm_job_warn(
            job,
            "step %s: of its tasks on this node %u are guided and %u are not: the record has the choice of the first",
            hm_step_name(step->step_id, name, sizeof(name)), n_guided, n_unguided);
}

static bool has_result(const struct hm_profiled *profiled)
{
    return profiled->method == HM_METHOD_MBI ? !profiled->why[0] : profiled->file[0];
}

void hm_outcome_note_profile(const struct hm_profiled *profiled, const struct hm_step *step, struct hm_job *job)
{
    if (is_noted(step, job->profiled.is_known, has_result(&job->profiled)) &&
        hm_fields_check(hm_profiled_table, profiled, NULL) == 0)
        job->profiled = *profiled;
}

void hm_outcome_collect(struct hm_outcome *outcome, const struct hm_step *step, struct hm_job *job)
{
    uint32_t count = __atomic_load_n(&outcome->n_warnings, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count && i < HM_OUTCOME_WARNINGS; i++)
        if (memchr(outcome->warning[i], '\0', HM_WARNING) && outcome->warning[i][0])
            hm_job_warn(job, "%.*s", HM_WARNING - 1, outcome->warning[i]); /* a task may take the end mark away now */
    if (__atomic_load_n(&outcome->is_outside, __ATOMIC_ACQUIRE) && !job->mongroup.why[0])
        hm_text_copy(job->mongroup.why, outcome->outside, sizeof(job->mongroup.why));
    collect_guided(outcome, job, step);
    /* The entry has the plan for the node as a whole. A task's own plan replaces it, as it knows the task's sockets. */
    if (__atomic_load_n(&outcome->has_plan, __ATOMIC_ACQUIRE) != 1)
        return;
    struct hm_plan *plan = malloc(sizeof(*plan));
    if (!plan)
        return;
    *plan = outcome->plan;
    if (hm_fields_check(hm_plan_table, plan, NULL) == 0 && job->has_plan &&
        strcmp(job->plan.request.text, step->request.text) == 0) {
        uint64_t reserve = job->plan.reserve_bytes;
        job->plan = *plan;
        job->plan.reserve_bytes = reserve;
    }
    free(plan);
}
