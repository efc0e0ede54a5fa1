/* SPDX-License-Identifier: Apache-2.0 */
/* hm_step_prepare: prepares a step, as root in slurmstepd. */
#include "parts.h"

#include <errno.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/memready.h"
#include "base/process.h"
#include "core/config/lookup.h"
#include "core/tiers/node.h"
#include "job/ledger/hurry.h"
#include "job/ledger/living.h"
#include "job/node/company.h"
#include "profiled.h"
#include "slurm/stepcgroup.h"

void hm_memory_policy_get(struct hm_memory_policy *policy)
{
    memset(policy, 0, sizeof(*policy));
    if (get_mempolicy(&policy->mode, (unsigned long *)policy->nodes.word, HM_SET_BITS, NULL, 0) != 0)
        policy->mode = MPOL_DEFAULT;
}

/* Do not hold the lock, as this may have to look for the node's topology. */
static void read_tiers(struct hm_preparation *p)
{
    hm_nodetiers_read(&p->step->config, &p->step->tiers, &p->tiers_error);
}

/* Reads which cgroup the job has. Do not hold the lock: slurmstepd may be in another cgroup then
 * (job/ledger/aside.h). */
static void read_cgroup(struct hm_step *step)
{
    if (hm_cgroup_of_self(step->cgroup, sizeof(step->cgroup)) != 0 || hm_cgroup_cut_to_job(step->cgroup) != 0)
        step->cgroup[0] = '\0';
}

/*
 * Looks up the user's name and groups if they are needed: if the step has a request of its own and a rule asks for
 * them, or if the prolog has left no entry. Do not hold the lock, as a directory service may take as long as the
 * look-up lets it.
 */
static void look_up_user(struct hm_preparation *p)
{
    char folder[HM_CONFIG_PATH_MAX + 16], entry[sizeof(folder) + 16];
    const char *option = p->facts->option;
    struct hm_request request;
    snprintf(entry, sizeof(entry), "%s/%u", hm_ledger_folder_path(&p->step->config, folder, sizeof(folder)),
             p->facts->job_id);
    hm_hurry_begin();
    p->has_entry = access(entry, F_OK) == 0;
    hm_hurry_end();
    const int64_t since_ms = hm_clock_ms(CLOCK_MONOTONIC);
    if ((option && hm_identity_is_needed(&p->step->config)) || !p->has_entry)
        p->knows_user = hm_lookup_uid(p->facts->uid, &p->user, &p->user_error) == 0;
    if (p->knows_user && option && hm_request_parse(option, &request, NULL) == 0)
        hm_lookup_doubts(&p->step->config, &request, &p->user, since_ms, &p->group_doubt);
}

/*
 * Returns 0, or -1: EPERM where the entry is that of another user's job with this number, such as a job of another
 * cluster; else as hm_ledger_read.
 */
static int find_entry(struct hm_preparation *p, struct hm_error *error)
{
    if (hm_ledger_read(&p->step->config, p->facts->job_id, p->job, error) != 0)
        return -1;
    if (p->job->uid == p->facts->uid)
        return 0;
    return hm_fail(error, EPERM, "the entry of job %u is that of user %u", p->facts->job_id, p->job->uid);
}

/*
 * Where hybridmem is switched off: did the job begin before that? It goes on as its entry says then, as tasks without
 * its file systems would lose data. No lock is taken: who only looks needs none.
 */
static bool began_before(struct hm_preparation *p)
{
    hm_hurry_begin();
    bool has_begun = find_entry(p, NULL) == 0;
    hm_hurry_end();
    return has_begun;
}

/*
 * Reads the job's entry, or begins a new one if the prolog left none. An entry that cannot be read is not replaced, as
 * it says what has to be undone on the node: the step goes on without one.
 */
static void read_entry(struct hm_preparation *p, struct hm_error *error)
{
    struct hm_error why = {0};
    struct hm_job *job = p->job;
    const struct hm_step_facts *facts = p->facts;
    if (find_entry(p, &why) == 0)
        return;
    int number = errno;
    hm_job_init(job, facts->job_id);
    job->uid = facts->uid;
    job->gid = facts->gid;
    if (p->knows_user)
        hm_text_copy(job->user, p->user.name, sizeof(job->user));
    if (number != ENOENT && p->has_ledger) {
        p->has_ledger = false;
        hm_fail(error, number, "%s", why.text);
    }
    if (p->has_ledger && hm_company_note(&p->step->config, job, &why) != 0)
        hm_job_warn(job, "who else is on the node is not known, so that its counters are not taken for the job's: %s",
                    why.text);
}

/*
 * Notes the ids of the job's array. slurmctld tells them to the slurmstepd of the batch script. That of any other step
 * takes them from the step's environment, which the user can set, and which a job that was submitted by a task of an
 * array inherits. So on a node without the batch script they are only claimed, and are checked at the job's end
 * (hooks/finish.c).
 */
static void note_array(struct hm_job *job, const struct hm_step_facts *facts)
{
    bool is_told = facts->step_id == HM_STEP_BATCH;
    if (!is_told && (job->array_is_told || facts->array_job_id == HM_NO_ID))
        return;
    job->array_job_id = facts->array_job_id;
    job->array_task_id = facts->array_task_id;
    job->array_is_told = is_told;
}

static void note_facts(struct hm_preparation *p)
{
    struct hm_job *job = p->job;
    const struct hm_step_facts *facts = p->facts;
    if (facts->restart > job->restart)
        job->restart = facts->restart;
    note_array(job, facts);
    job->dead_ns = 0;
    job->dead_boot_ns = 0;
    if (!hm_job_has_finisher(job)) { /* with one, the job's end stays noted */
        job->end_ns = 0;
        job->finisher = (struct hm_process){0};
    }
    if (facts->cores && hm_set_parse(&job->cores, facts->cores, NULL) == 0)
        job->has_cores = true;
    if (p->step->cgroup[0])
        hm_text_copy(job->cgroup, p->step->cgroup, sizeof(job->cgroup));
    if (facts->step_id != HM_STEP_EXTERN)
        hm_job_add_step(job, facts->step_id);
}

/* Judges a step's own request. The prolog has judged the allocation's. */
static void judge(struct hm_preparation *p)
{
    struct hm_step *step = p->step;
    const struct hm_job *job = p->job;
    struct hm_error error = {0};
    const char *own = p->option;
    if (!own || (!job->request_is_default && strcmp(own, job->request) == 0)) {
        hm_step_refuse(step, job->refusal);
        return;
    }
    const struct hm_asker asker = {.identity = p->knows_user ? &p->user : NULL,
                                   .unknown = p->user_error.text,
                                   .doubt = p->group_doubt.text,
                                   .user = job->user,
                                   .account = job->account,
                                   .partition = job->partition};
    if (hm_identity_judge(&step->config, &step->request, &asker, &error) != 0)
        hm_step_refuse(step, error.text);
}

/*
 * Is this step's option to be ignored, as it is that of a heterogeneous job's leader, and the step is of another
 * component? The script has the leader's option in its environment, and an srun there passes it to the steps of all
 * components. For such a step the component's own request comes first, and file systems are only the leader's.
 */
static bool is_leaders(const struct hm_preparation *p)
{
    const struct hm_job *job = p->job;
    struct hm_request inherited;
    if (!p->facts->option_is_inherited || job->het_job_id == HM_NO_ID || job->het_job_id == job->job_id)
        return false;
    return (job->request[0] && !job->request_is_default) ||
           (hm_request_parse(p->facts->option, &inherited, NULL) == 0 &&
            hm_request_wants(&inherited, HM_WANTS_NAMESPACES));
}

/* Has the prolog let the job run with what this step asks for? */
static bool was_let_run(const struct hm_preparation *p)
{
    const struct hm_job *job = p->job;
    bool is_own = p->option && (job->request_is_default || strcmp(p->option, job->request) != 0);
    return job->is_entered && !job->refusal[0] && !is_own;
}

/* What the prolog has made for all steps of a job, or the node has: a step has it whatever the configuration says. */
#define MADE_BEFORE (HM_WANTS_NAMESPACES | HM_WANTS_SIDE_CACHE)

/*
 * Finds the request that applies to this step, and whether it is allowed. Where the configuration has become wrong
 * since the job began, the step counts as one that has not asked: it runs without its mode, unless all of that was made
 * before.
 */
static void decide(struct hm_preparation *p)
{
    struct hm_step *step = p->step;
    struct hm_error error = {0};
    bool is_wrong = p->config_error.text[0] != '\0';
    p->option = is_leaders(p) ? NULL : p->facts->option;
    const char *text = p->option ? p->option : p->job->request;
    if (p->facts->step_id == HM_STEP_EXTERN || (!p->option && !text[0]))
        return;
    bool goes_on = is_wrong && was_let_run(p);
    step->is_asked = (p->option || !p->job->request_is_default) && !goes_on;
    if (hm_request_parse(text, &step->request, &error) != 0)
        hm_step_refuse(step, error.text);
    else if (!hm_request_wants(&step->request, HM_WANTS_ANYTHING))
        return;
    step->is_active = true;
    if (is_wrong && !(goes_on && !hm_request_wants(&step->request, ~MADE_BEFORE)))
        hm_step_refuse(step, p->config_error.text);
    else if (!step->refusal[0])
        judge(p);
}

/*
 * Warns of the refusal, unless the user asked for the mode and the whole job was refused: its record has that already.
 * If the user did not ask, also takes the refusal back: the step runs without the partition's default.
 */
static void settle(struct hm_preparation *p)
{
    struct hm_step *step = p->step;
    char name[16];
    if (!step->refusal[0])
        return;
    if (!step->is_asked || strcmp(step->refusal, p->job->refusal) != 0)
        hm_job_warn(p->job, "step %s %s: %s", hm_step_name(p->facts->step_id, name, sizeof(name)),
                    step->is_asked               ? "was refused"
                    : p->job->request_is_default ? "runs without the partition's default mode"
                                                 : "runs without its mode",
                    step->refusal);
    if (!step->is_asked) {
        step->is_active = false;
        step->refusal[0] = '\0';
    }
}

/*
 * Does the part of hm_step_prepare that needs the lock. If the ledger could not be locked or read (`has_ledger` is
 * false), nothing is changed on the node that the ledger would have to remember.
 */
static void prepare(struct hm_preparation *p, struct hm_error *error)
{
    read_entry(p, error);
    note_facts(p);
    decide(p);
    p->step->namespaces = p->job->namespaces;
    if (p->step->is_active && !p->step->refusal[0])
        hm_step_plan(p);
    settle(p);
    if (p->has_ledger)
        hm_step_begin_watch(p);
    p->step->mongroup = p->job->mongroup;
}

int hm_step_prepare(const struct hm_step_facts *facts, struct hm_step *step, struct hm_error *error)
{
    struct hm_preparation p = {.facts = facts, .step = step};
    int result = 0;
    if (hm_config_read(facts->config_path, false, &step->config, &p.config_error) != 0)
        hm_config_defaults(&step->config);
    bool is_off = !step->config.enabled;
    p.job = malloc(sizeof(*p.job));
    if (is_off && (!p.job || !began_before(&p))) {
        free(p.job);
        /* The job is company for those that have an entry. */
        return hm_company_pass(&step->config, facts->job_id, error);
    }
    step->config.enabled = true; /* for what follows in this step, and its end */
    step->job_id = facts->job_id;
    step->uid = facts->uid;
    step->step_id = facts->step_id;
    step->n_tasks = facts->n_tasks;
    step->array_task_id = facts->array_task_id;
    hm_memory_policy_get(&step->inherited);
    if (!p.job) {
        hm_step_refuse(step, "no memory for the node's ledger");
        step->is_active = facts->option != NULL;
        return hm_fail(error, ENOMEM, "no memory for the node's ledger");
    }
    read_cgroup(step); /* while slurmstepd is in the job's cgroup for sure (job/ledger/aside.h) */
    look_up_user(&p);
    read_tiers(&p);
    hm_step_learn(&p);
    hm_memready_touch(step, sizeof(*step));
    hm_memready_touch(p.job, sizeof(*p.job));
    int lock = hm_ledger_lock(&step->config, error);
    p.has_ledger = lock >= 0;
    prepare(&p, error);
    if (!p.has_ledger || hm_ledger_write(&step->config, p.job, error) != 0)
        result = -1;
    hm_ledger_unlock(lock);
    if (result == 0 && p.must_start_monitor)
        result = hm_step_watch(&p, error);
    if (result == 0 && step->is_active && !step->refusal[0] && p.migration.is_wanted)
        result = hm_step_migrate(&p, error);
    if (step->is_active && !step->refusal[0] && hm_request_wants(&step->request, HM_WANTS_PROFILE) &&
        !hm_request_is_mbi(&step->request))
        hm_step_lend(&p);
    if (step->is_active && hm_request_wants(&step->request, HM_WANTS_PROFILE))
        step->results = hm_profiled_open_results();
    free(p.job);
    if (p.knows_user)
        hm_identity_free(&p.user);
    if (result == 0 && p.config_error.text[0])
        result = hm_fail(error, EINVAL, "%s", p.config_error.text);
    return result;
}
