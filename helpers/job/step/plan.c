/* SPDX-License-Identifier: Apache-2.0 */
/* Plans what a step gets of the node's memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "core/apply/policy.h"
#include "job/ledger/hurry.h"
#include "job/ledger/log.h"
#include "job/node/changes.h"
#include "job/node/company.h"
#include "job/node/usable.h"
#include "mbitask.h"
#include "parts.h"

/* What a step's plan decides: where memory goes, or whether the node has what the mode is about; for profile that
 * nothing is placed. */
#define WANTS_PLAN (HM_WANTS_PLACEMENT | HM_WANTS_SIDE_CACHE | HM_WANTS_PROFILE)

static bool wants_plan(const char *text)
{
    struct hm_request request;
    return hm_request_parse(text, &request, NULL) == 0 && hm_request_wants(&request, WANTS_PLAN);
}

/* May the step get a plan? Whether its own request or the job's applies is decided with the lock; here either counts.
 */
static bool may_be_planned(struct hm_preparation *p)
{
    const struct hm_step_facts *facts = p->facts;
    if (facts->step_id == HM_STEP_EXTERN || p->step->tiers.n_tiers == 0)
        return false;
    if (facts->option && wants_plan(facts->option))
        return true;
    if (!p->has_entry)
        return false;
    hm_hurry_begin();
    int result = hm_ledger_read(&p->step->config, facts->job_id, p->job, NULL);
    hm_hurry_end();
    return result == 0 ? wants_plan(p->job->request) : errno != ENOENT;
}

/* Finds the CPUs of the job in its cgroup. If they are not known there, takes all CPUs that the node allows. */
static void find_job_cpus(struct hm_preparation *p)
{
    char path[HM_JOB_CGROUP + 32], text[4096];
    snprintf(path, sizeof(path), "%s/cpuset.cpus.effective", p->step->cgroup);
    if (!p->step->cgroup[0] || hm_file_read(path, text, sizeof(text), NULL) != 0 ||
        hm_set_parse(&p->job_cpus, text, NULL) != 0 || hm_set_is_empty(&p->job_cpus))
        p->job_cpus = p->step->tiers.topology.allowed_cpus;
}

/* Does it matter for this request whether the job has the node to itself? Only such a job may change the interleave
 * weights, or measure by the counters of the node. */
static bool is_about_the_whole_node(const struct hm_step *step, const char *text)
{
    const struct hm_tiers *tiers = &step->tiers;
    struct hm_request request;
    if (!text || hm_request_parse(text, &request, NULL) != 0)
        return false;
    if (hm_request_is_mbi(&request))
        return true;
    return hm_request_wants(&request, HM_WANTS_PLACEMENT) && step->abilities.weighted_interleave &&
           hm_tiers_channels(&step->config, &tiers->tier[0], &tiers->tier[tiers->n_tiers - 1]) == HM_CHANNELS_SEPARATE;
}

/* Finds out how many cores of the node jobs can have, where this matters and no other job is there. */
static void learn_cores(struct hm_preparation *p)
{
    struct hm_error why = {0};
    const struct hm_step *step = p->step;
    if (!p->has_entry)
        return;
    hm_hurry_begin();
    bool may_be_alone = hm_ledger_read(&step->config, p->facts->job_id, p->job, NULL) == 0 && p->job->node[0] &&
                        hm_company_is_none(&step->config, p->facts->job_id);
    hm_hurry_end();
    if (may_be_alone &&
        (is_about_the_whole_node(step, p->facts->option) || is_about_the_whole_node(step, p->job->request)) &&
        hm_usable_learn(&step->config, p->job->node, &p->usable_cores, &why) != 0)
        hm_log(HM_LOG_WARNING, "job %u: whether it has all cores of the node is not known: %s", p->facts->job_id,
               why.text);
}

void hm_step_learn(struct hm_preparation *p)
{
    struct hm_step *step = p->step;
    if (!may_be_planned(p))
        return;
    if (hm_abilities_read(&step->tiers, &step->abilities, NULL) != 0)
        memset(&step->abilities, 0, sizeof(step->abilities));
    learn_cores(p);
    find_job_cpus(p);
}

/*
 * Refuses file systems that the prolog has not made: it makes them for all steps of the job, and a step cannot have
 * others.
 */
static void judge_fsdax(struct hm_preparation *p)
{
    struct hm_step *step = p->step;
    const struct hm_job *job = p->job;
    struct hm_error error = {0};
    if (!job->is_entered)
        hm_fail(&error, ENODEV, "--hybrid-mem=%.48s: the prolog did not note this job, and made no DAX file system",
                step->request.text);
    else if (p->option && strcmp(p->option, job->request) != 0)
        hm_fail(&error, ENOTSUP,
                "--hybrid-mem=%.48s: DAX file systems are made before a job starts, not for a step: give it to sbatch, "
                "salloc, or the srun that starts the job",
                p->option);
    else if (job->namespaces.n == 0)
        hm_fail(&error, ENODEV, "--hybrid-mem=%.48s: the prolog has made no DAX file system for this job",
                step->request.text);
    hm_step_refuse(step, error.text);
}

/* Refuses a step of method=mbi whose run cannot be measured. */
static void judge_mbi(struct hm_preparation *p)
{
    struct hm_error error = {0};
    bool is_alone = hm_company_is_alone(&p->step->config, p->job, p->usable_cores);
    const char *why = hm_mbitask_judge(&p->step->request, p->facts->array_task_id, p->facts->n_nodes, is_alone, &error);
    if (why)
        hm_step_refuse(p->step, why);
}

/*
 * Makes the plan for the whole node: it tells root what to change, and is in the record until a task has made its own.
 */
static int resolve(struct hm_preparation *p, struct hm_plan *plan)
{
    struct hm_step *step = p->step;
    struct hm_error error = {0};
    struct hm_request request = step->request;
    struct hm_where *where = calloc(1, sizeof(*where));
    if (!where)
        return hm_fail(NULL, ENOMEM, "no memory");
    request.socket = HM_SOCKET_ALL; /* which sockets are local differs from task to task */
    where->cpus = step->tiers.topology.allowed_cpus;
    int result = hm_plan_resolve(&request, &step->tiers, &step->config, &step->abilities, where, plan, &error);
    free(where);
    if (result != 0)
        hm_step_refuse(step, error.text);
    plan->request = step->request;
    return result;
}

/*
 * Plans what the migrator moves between: the nodes of all tasks. With socket= these are the nodes that are local, or
 * remote, to the job as a whole. If there are none (remote, for a job on all sockets), all nodes are taken.
 */
static void plan_migration(struct hm_preparation *p, const struct hm_plan *node_plan)
{
    const struct hm_step *step = p->step;
    struct hm_where *where = calloc(1, sizeof(*where));
    struct hm_plan *plan = calloc(1, sizeof(*plan));
    p->migration = node_plan->migration;
    p->reserve_bytes = node_plan->reserve_bytes;
    if (!where || !plan || step->request.socket == HM_SOCKET_ALL)
        goto done;
    where->cpus = p->job_cpus;
    if (hm_plan_resolve(&step->request, &step->tiers, &step->config, &step->abilities, where, plan, NULL) == 0)
        p->migration = plan->migration;
done:
    free(plan);
    free(where);
}

/*
 * Plans for the whole node. The weights were read without the lock. They may have been put back since, when the last
 * job that used them ended. So a plan that uses them is made again, by those that are set now.
 */
static int resolve_with_lock(struct hm_preparation *p, struct hm_plan *plan)
{
    struct hm_step *step = p->step;
    step->abilities.alone = hm_company_is_alone(&step->config, p->job, p->usable_cores);
    if (resolve(p, plan) != 0)
        return -1;
    if (!plan->has_weights)
        return 0;
    hm_abilities_read_weights(&step->tiers, &step->abilities);
    return resolve(p, plan);
}

static void plan_memory(struct hm_preparation *p)
{
    struct hm_step *step = p->step;
    struct hm_job *job = p->job;
    struct hm_error error = {0};
    struct hm_wanted wanted[HM_JOB_CHANGES];
    struct hm_plan *plan = calloc(1, sizeof(*plan));
    if (!plan || step->tiers.n_tiers == 0) {
        hm_step_refuse(step, plan ? p->tiers_error.text : "no memory for the plan");
        goto done;
    }
    if (resolve_with_lock(p, plan) != 0)
        goto done;
    plan_migration(p, plan);
    bool is_of_allocation = !p->option || strcmp(p->option, job->request) == 0;
    if (!job->has_plan || (is_of_allocation && strcmp(job->plan.request.text, job->request) != 0)) {
        job->plan = *plan;
        job->has_plan = true;
    }
    int count = hm_changes_wanted(plan, &step->tiers, wanted, HM_JOB_CHANGES);
    if (p->has_ledger && hm_changes_apply(&step->config, job, wanted, count, &error) != 0)
        hm_job_warn(job, "%s", error.text);
    /*
     * From here on the weights stay as root has set them. A task cannot set them: its plan uses them as they are, or
     * uses no weights.
     */
    if (plan->must_set_weights)
        hm_abilities_read_weights(&step->tiers, &step->abilities);
    step->abilities.alone = false;
done:
    free(plan);
}

void hm_step_plan(struct hm_preparation *p)
{
    if (hm_request_wants(&p->step->request, HM_WANTS_NAMESPACES))
        judge_fsdax(p);
    if (hm_request_is_mbi(&p->step->request))
        judge_mbi(p);
    if (hm_request_wants(&p->step->request, WANTS_PLAN))
        plan_memory(p);
}
