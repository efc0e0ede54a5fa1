/* SPDX-License-Identifier: Apache-2.0 */
#include "step.h"

#include <errno.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/policy.h"
#include "changes.h"
#include "cores.h"
#include "damonstart.h"
#include "files.h"
#include "identity.h"
#include "living.h"
#include "migrator.h"
#include "monitor.h"
#include "nodetiers.h"

/* What hm_step_prepare has found out on its way. */
struct preparation {
    const struct hm_step_facts *facts;
    const char *option; /* this step's, NULL: the job's request holds */
    struct hm_step *step;
    struct hm_job *job;
    bool has_ledger;
    struct hm_plan_migration migration;
    uint64_t reserve_bytes;
    struct hm_error config_error, tiers_error; /* "" fine */
};

void hm_memory_policy_get(struct hm_memory_policy *policy)
{
    memset(policy, 0, sizeof(*policy));
    if (get_mempolicy(&policy->mode, (unsigned long *)policy->nodes.word, HM_SET_BITS, NULL, 0) != 0)
        policy->mode = MPOL_DEFAULT;
}

static void refuse(struct hm_step *step, const char *text)
{
    if (!step->refusal[0])
        hm_text_copy(step->refusal, text, sizeof(step->refusal));
}

static void read_tiers(struct preparation *p)
{
    hm_nodetiers_read(&p->step->config, &p->step->tiers, &p->tiers_error);
}

/* The job's entry, or a new one where the prolog left none. One that cannot be read is not replaced: what it has
 * changed on the node has to be undone. The step goes on without. */
static void read_entry(struct preparation *p, struct hm_error *error)
{
    struct hm_identity identity;
    struct hm_error why = {0};
    struct hm_job *job = p->job;
    const struct hm_step_facts *facts = p->facts;
    if (hm_ledger_read(&p->step->config, facts->job_id, job, &why) == 0)
        return;
    int number = errno;
    hm_job_init(job, facts->job_id);
    job->uid = facts->uid;
    job->gid = facts->gid;
    if (hm_identity_of_uid(facts->uid, &identity, NULL) == 0) {
        hm_text_copy(job->user, identity.name, sizeof(job->user));
        hm_identity_free(&identity);
    }
    if (number == ENOENT) {
        hm_job_warn(job, "the prolog left no entry for this job: account and partition are not known");
    } else if (p->has_ledger) {
        p->has_ledger = false;
        hm_fail(error, number, "%s", why.text);
    }
}

static void note_facts(struct preparation *p)
{
    struct hm_job *job = p->job;
    const struct hm_step_facts *facts = p->facts;
    char folder[HM_JOB_CGROUP];
    if (facts->restart > job->restart)
        job->restart = facts->restart;
    job->array_job_id = facts->array_job_id;
    job->array_task_id = facts->array_task_id;
    job->dead_ns = 0;
    if (facts->cores && hm_set_parse(&job->cores, facts->cores, NULL) == 0)
        job->has_cores = true;
    if (hm_cgroup_of_self(folder, sizeof(folder)) == 0 && hm_cgroup_cut_to_job(folder) == 0)
        hm_text_copy(job->cgroup, folder, sizeof(job->cgroup));
    if (facts->step_id != HM_STEP_EXTERN)
        hm_job_add_step(job, facts->step_id);
}

/* The prolog judged the allocation's request; a step's own is judged here. */
static void judge(struct preparation *p)
{
    struct hm_step *step = p->step;
    const struct hm_job *job = p->job;
    struct hm_error error = {0};
    const char *own = p->option;
    if (!own || (!job->request_is_default && strcmp(own, job->request) == 0)) {
        refuse(step, job->refusal);
        return;
    }
    if (hm_identity_judge(&step->config, &step->request, p->facts->uid, job->user, job->account, job->partition,
                          &error) != 0)
        refuse(step, error.text);
}

/*
 * The script of a heterogeneous job has the leader's option in its environment, and an srun in it hands that to the
 * steps of all components: there a component's own request comes first.
 */
static bool is_leaders(const struct preparation *p)
{
    const struct hm_job *job = p->job;
    return p->facts->option_is_inherited && job->het_job_id != HM_NO_ID && job->het_job_id != job->job_id &&
           job->request[0] && !job->request_is_default;
}

/* Which request holds for this step, and may it? */
static void decide(struct preparation *p)
{
    struct hm_step *step = p->step;
    struct hm_error error = {0};
    p->option = is_leaders(p) ? NULL : p->facts->option;
    const char *text = p->option ? p->option : p->job->request;
    if (p->facts->step_id == HM_STEP_EXTERN || (!p->option && !text[0]))
        return;
    step->is_asked = p->option || !p->job->request_is_default;
    if (hm_request_parse(text, &step->request, &error) != 0)
        refuse(step, error.text);
    else if (step->request.mode == HM_MODE_OFF)
        return;
    step->is_active = true;
    if (p->config_error.text[0])
        refuse(step, p->config_error.text);
    else if (!step->refusal[0])
        judge(p);
}

/* File systems are made by the prolog, for all steps of the job: a step cannot have others. */
static void judge_fsdax(struct preparation *p)
{
    struct hm_step *step = p->step;
    const struct hm_job *job = p->job;
    struct hm_error error = {0};
    if (p->option && strcmp(p->option, job->request) != 0)
        hm_fail(&error, ENOTSUP,
                "--hybrid-mem=%.48s: DAX file systems are made before a job starts, not for a step: give it to sbatch, "
                "salloc, or the srun that starts the job",
                p->option);
    else if (job->namespaces.n == 0)
        hm_fail(&error, ENODEV, "--hybrid-mem=%.48s: the prolog has made no DAX file system for this job",
                step->request.text);
    refuse(step, error.text);
}

/* The plan for the whole node: what root has to do, and what the record says until a task knows better. */
static int resolve(struct preparation *p, struct hm_plan *plan)
{
    struct hm_step *step = p->step;
    struct hm_error error = {0};
    struct hm_request request = step->request;
    struct hm_where *where = calloc(1, sizeof(*where));
    if (!where)
        return hm_fail(NULL, ENOMEM, "no memory");
    request.socket = HM_SOCKET_ALL; /* which sockets are local differs by task */
    where->cpus = step->tiers.topology.allowed_cpus;
    int result = hm_plan_resolve(&request, &step->tiers, &step->config, &step->abilities, where, plan, &error);
    free(where);
    if (result != 0)
        refuse(step, error.text);
    plan->request = step->request;
    return result;
}

/* The CPUs that the job has, as far as its cgroup says so yet; else all that it may have. */
static void find_job_cpus(const struct preparation *p, struct hm_set *cpus)
{
    char path[HM_JOB_CGROUP + 32], text[4096];
    snprintf(path, sizeof(path), "%s/cpuset.cpus.effective", p->job->cgroup);
    if (!p->job->cgroup[0] || hm_file_read(path, text, sizeof(text), NULL) != 0 ||
        hm_set_parse(cpus, text, NULL) != 0 || hm_set_is_empty(cpus))
        *cpus = p->step->tiers.topology.allowed_cpus;
}

/*
 * What the migrator moves between: all tasks' nodes. With socket= these are the nodes that are local, or remote, to the
 * job as a whole; where there are none (remote, on all sockets), all of them.
 */
static void plan_migration(struct preparation *p, const struct hm_plan *node_plan)
{
    const struct hm_step *step = p->step;
    struct hm_where *where = calloc(1, sizeof(*where));
    struct hm_plan *plan = calloc(1, sizeof(*plan));
    p->migration = node_plan->migration;
    p->reserve_bytes = node_plan->reserve_bytes;
    if (!where || !plan || step->request.socket == HM_SOCKET_ALL)
        goto done;
    find_job_cpus(p, &where->cpus);
    if (hm_plan_resolve(&step->request, &step->tiers, &step->config, &step->abilities, where, plan, NULL) == 0)
        p->migration = plan->migration;
done:
    free(plan);
    free(where);
}

static void learn_abilities(struct preparation *p)
{
    struct hm_step *step = p->step;
    struct hm_set all_cores;
    if (hm_abilities_read(&step->tiers, &step->abilities, NULL) != 0)
        memset(&step->abilities, 0, sizeof(step->abilities));
    step->abilities.alone = hm_cores_of_node(&all_cores) == 0 && hm_ledger_is_alone(&step->config, p->job, &all_cores);
}

static void plan_step(struct preparation *p)
{
    struct hm_step *step = p->step;
    struct hm_job *job = p->job;
    struct hm_error error = {0};
    struct hm_wanted wanted[HM_JOB_CHANGES];
    struct hm_plan *plan = calloc(1, sizeof(*plan));
    if (!plan || step->tiers.n_tiers == 0) {
        refuse(step, plan ? p->tiers_error.text : "no memory for the plan");
        goto done;
    }
    learn_abilities(p);
    if (resolve(p, plan) != 0)
        goto done;
    plan_migration(p, plan);
    bool is_allocations = !p->option || strcmp(p->option, job->request) == 0;
    if (!job->has_plan || (is_allocations && strcmp(job->plan.request.text, job->request) != 0)) {
        job->plan = *plan;
        job->has_plan = true;
    }
    int count = hm_changes_wanted(plan, &step->tiers, wanted, HM_JOB_CHANGES);
    if (p->has_ledger && hm_changes_apply(&step->config, job, wanted, count, &error) != 0)
        hm_job_warn(job, "%s", error.text);
    /* The weights are what root leaves now: a task cannot set them, so its plan takes them or does without. */
    if (count > 0 && hm_abilities_read(&step->tiers, &step->abilities, &error) != 0)
        hm_job_warn(job, "%s", error.text);
    step->abilities.alone = false;
done:
    free(plan);
}

/* A default mode that cannot be had is nobody's error: the step runs without. */
static void settle(struct preparation *p)
{
    struct hm_step *step = p->step;
    char name[16];
    if (!step->refusal[0])
        return;
    hm_job_warn(p->job, "step %s %s: %s", hm_step_name(p->facts->step_id, name, sizeof(name)),
                step->is_asked ? "was refused" : "runs without the partition's default mode", step->refusal);
    if (!step->is_asked) {
        step->is_active = false;
        step->refusal[0] = '\0';
    }
}

static void watch(struct preparation *p)
{
    struct hm_job *job = p->job;
    struct hm_error error = {0};
    job->recorded = job->recorded || p->step->is_active || p->step->config.record == HM_RECORD_ALL;
    if (!job->recorded || !job->cgroup[0])
        return;
    if (p->step->tiers.n_tiers == 0)
        hm_job_warn(job, "memory is not measured: %s", p->tiers_error.text);
    else if (hm_monitor_start(&p->step->config, &p->step->tiers, job, &error) != 0)
        hm_job_warn(job, "memory is not measured: %s", error.text);
}

/* With the ledger locked; without (`has_ledger` false) nothing is changed that the ledger would have to remember. */
static void prepare(struct preparation *p, struct hm_error *error)
{
    read_tiers(p);
    read_entry(p, error);
    note_facts(p);
    decide(p);
    p->step->namespaces = p->job->namespaces;
    bool is_fsdax = p->step->request.mode == HM_MODE_FSDAX;
    if (p->step->is_active && !p->step->refusal[0] && is_fsdax)
        judge_fsdax(p);
    else if (p->step->is_active && !p->step->refusal[0])
        plan_step(p);
    settle(p);
    if (p->has_ledger)
        watch(p);
}

/* Wants the lock. */
static void start_migrator(struct preparation *p, const char *broker)
{
    struct hm_step *step = p->step;
    struct hm_error error = {0};
    char cgroup[HM_JOB_CGROUP], name[16];
    struct hm_migrator_facts facts = {.plan = &p->migration,
                                      .job_id = step->job_id,
                                      .step_id = step->step_id,
                                      .uid = p->facts->uid,
                                      .gid = p->facts->gid,
                                      .reserve_bytes = p->reserve_bytes,
                                      .end_s = p->job->end_s ? p->job->end_s : p->facts->end_s,
                                      .step_cgroup = cgroup,
                                      .broker = broker};
    if (hm_cgroup_of_self(cgroup, sizeof(cgroup)) != 0 || hm_cgroup_cut_to_step(cgroup) != 0)
        hm_fail(&error, ENOENT, "slurmstepd is in no cgroup of a step");
    else if (hm_migrator_start(&step->config, &facts, p->job, &step->migrator, &error) == 0)
        return;
    hm_job_warn(p->job, "step %s: nothing is migrated: %s", hm_step_name(step->step_id, name, sizeof(name)),
                error.text);
}

/*
 * The DAMON broker, where it may be the source, then the migrator. The broker may take its time: not with the lock.
 * Returns 0, or -1 with a text.
 */
static int migrate(struct preparation *p, struct hm_error *error)
{
    const struct hm_config *config = &p->step->config;
    char broker[HM_CONFIG_PATH_MAX + 16], home[HM_JOB_CGROUP];
    struct hm_error why = {0};
    int result = -1;
    bool may_be_damon = p->migration.keys.source == HM_SAMPLING_AUTO || p->migration.keys.source == HM_SAMPLING_DAMON;
    hm_text_copy(home, p->job->home_cgroup[0] ? p->job->home_cgroup : "/sys/fs/cgroup", sizeof(home));
    if (may_be_damon)
        hm_damon_ensure(config, home, &why);
    int lock = hm_ledger_lock(config, error);
    if (lock < 0 || hm_ledger_read(config, p->step->job_id, p->job, error) != 0)
        goto done;
    if (why.text[0])
        hm_job_warn(p->job, "DAMON cannot be used: %s", why.text);
    start_migrator(p, may_be_damon ? hm_damon_socket_path(config, broker, sizeof(broker)) : NULL);
    result = hm_ledger_write(config, p->job, error);
done:
    hm_ledger_unlock(lock);
    return result;
}

int hm_step_prepare(const struct hm_step_facts *facts, struct hm_step *step, struct hm_error *error)
{
    struct preparation p = {.facts = facts, .step = step};
    int result = 0;
    if (hm_config_read(facts->config_path, false, &step->config, &p.config_error) != 0)
        hm_config_defaults(&step->config);
    if (!step->config.enabled)
        return 0;
    step->job_id = facts->job_id;
    step->step_id = facts->step_id;
    step->n_tasks = facts->n_tasks;
    hm_memory_policy_get(&step->inherited);
    p.job = malloc(sizeof(*p.job));
    if (!p.job) {
        refuse(step, "no memory for the node's ledger");
        step->is_active = facts->option != NULL;
        return hm_fail(error, ENOMEM, "no memory for the node's ledger");
    }
    int lock = hm_ledger_lock(&step->config, error);
    p.has_ledger = lock >= 0;
    prepare(&p, error);
    if (!p.has_ledger || hm_ledger_write(&step->config, p.job, error) != 0)
        result = -1;
    hm_ledger_unlock(lock);
    if (result == 0 && step->is_active && !step->refusal[0] && p.migration.is_wanted)
        result = migrate(&p, error);
    free(p.job);
    if (result == 0 && p.config_error.text[0])
        result = hm_fail(error, EINVAL, "%s", p.config_error.text);
    return result;
}

int hm_step_end(const struct hm_step *step, struct hm_error *error)
{
    int result = -1;
    struct hm_job *job = NULL;
    if (!step->config.enabled || !hm_migrator_has_left(&step->config, step->job_id, step->step_id))
        return 0;
    if (hm_migrator_stop(&step->migrator, error) != 0)
        return -1;
    int lock = hm_ledger_lock(&step->config, error);
    if (lock < 0)
        return -1;
    job = malloc(sizeof(*job));
    if (!job)
        hm_fail(error, ENOMEM, "no memory for the node's ledger");
    else if (hm_ledger_read(&step->config, step->job_id, job, error) == 0) {
        hm_migrator_collect(&step->config, job, step->step_id);
        result = hm_ledger_write(&step->config, job, error);
    }
    hm_ledger_unlock(lock);
    free(job);
    return result;
}
