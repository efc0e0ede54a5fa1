/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends a step's migrator, and the broker for it and for recorders. */
#include <errno.h>
#include <stdlib.h>

#include "base/amount.h"
#include "base/files.h"
#include "base/perfopen.h"
#include "base/process.h"
#include "job/ledger/log.h"
#include "job/node/fair.h"
#include "job/programs/damonstart.h"
#include "job/programs/migrator.h"
#include "parts.h"
#include "profiled.h"
#include "slurm/stepcgroup.h"

#define LOSS "nothing is migrated"

static int begin(struct hm_preparation *p, const struct hm_error *no_damon, struct hm_error *error)
{
    struct hm_step *step = p->step;
    int result = -1;
    int lock = hm_ledger_lock(&step->config, error);
    if (lock >= 0 && hm_step_read_again(p, LOSS, error) == 0) {
        if (no_damon->text[0] && hm_sampling_may_have(p->migration.keys.source, HM_SAMPLING_BROKER))
            hm_job_warn(p->job, "DAMON cannot be used: %s", no_damon->text);
        result = hm_migrator_begin(&step->config, p->job, step->step_id, p->migration.cap_bytes, error);
    }
    hm_ledger_unlock(lock);
    return result;
}

static int launch(struct hm_preparation *p, struct hm_error *error)
{
    struct hm_step *step = p->step;
    char cgroup[HM_JOB_CGROUP], broker[HM_CONFIG_PATH_MAX + 16], shares[HM_FAIR_PATH], traffic[HM_CONFIG_PATH_MAX + 32];
    const struct hm_migrator_facts facts = {
        .plan = &p->migration,
        .job_id = step->job_id,
        .step_id = step->step_id,
        .uid = p->facts->uid,
        .gid = p->facts->gid,
        .reserve_bytes = p->reserve_bytes,
        /* the limit may have been raised since the prolog */
        .end_s = hm_most(p->job->end_s, p->facts->end_s),
        .step_cgroup = cgroup,
        .broker = hm_damon_socket_path(&step->config, broker, sizeof(broker)),
        .shares = hm_fair_path(&step->config, shares),
        .shared_nodes = &step->tiers.tier[0].nodes,
        .traffic = hm_ledger_samples_path(&step->config, step->job_id, traffic, sizeof(traffic)),
        .load = step->config.load};
    if (hm_cgroup_of_self(cgroup, sizeof(cgroup)) != 0 || hm_cgroup_cut_to_step(cgroup) != 0)
        return hm_fail(error, ENOENT, HM_STEP_NO_CGROUP);
    return hm_migrator_launch(&step->config, &facts, &step->migrator, error);
}

/* Notes what the launch came to: `failure` says why there is no migrator. */
static int note(struct hm_preparation *p, const struct hm_error *failure, struct hm_error *error)
{
    struct hm_step *step = p->step;
    char name[16];
    int result = -1;
    int lock = hm_ledger_lock(&step->config, error);
    if (lock >= 0 && hm_step_read_again(p, LOSS, error) == 0) {
        hm_migrator_note(&step->config, p->job, step->step_id, failure->text[0] ? NULL : &step->migrator);
        if (failure->text[0])
            hm_job_warn(p->job, "step %s: " LOSS ": %s", hm_step_name(step->step_id, name, sizeof(name)),
                        failure->text);
        result = hm_ledger_write(&step->config, p->job, error);
    }
    hm_ledger_unlock(lock);
    return result;
}

/* The cgroup for a program that may outlive the job. */
static const char *home_of(const struct hm_preparation *p, char home[HM_JOB_CGROUP])
{
    return hm_text_copy(home, p->job->home_cgroup[0] ? p->job->home_cgroup : "/sys/fs/cgroup", HM_JOB_CGROUP);
}

void hm_step_lend(const struct hm_preparation *p)
{
    const struct hm_config *config = &p->step->config;
    char home[HM_JOB_CGROUP], paranoid[16] = "";
    struct hm_error error = {0};
    if ((!config->lend_samples && !hm_profiled_may_look(p->step)) ||
        atoi(hm_perf_read_paranoid(paranoid, sizeof(paranoid))) <= HM_PERF_PARANOID_MOST)
        return;
    if (hm_damon_ensure(config, home_of(p, home), &error) != 0)
        hm_log(HM_LOG_WARNING, "the step has no samples by hybridmem-damon: %s", error.text);
}

/*
 * Starting a program may take long, so the lock is not held for it. A migrator that cannot be noted is ended at once:
 * otherwise it would run until the step's tasks are gone (--guard).
 */
int hm_step_migrate(struct hm_preparation *p, struct hm_error *error)
{
    const struct hm_config *config = &p->step->config;
    char home[HM_JOB_CGROUP];
    struct hm_error no_damon = {0}, failure = {0}, why = {0};
    /* The broker is started even if another source is asked for: DAMON may be used if that source does not work. */
    hm_damon_ensure(config, home_of(p, home), &no_damon);
    (void)hm_fair_make(config, NULL); /* where it fails, the entry gets a warning (hm_migrator_begin) */
    if (begin(p, &no_damon, error) != 0)
        return -1;
    launch(p, &failure);
    if (note(p, &failure, error) == 0)
        return 0;
    hm_migrator_stop(&p->step->migrator, &why);
    hm_step_end(p->step, &why);
    p->step->migrator = (struct hm_process){0};
    return -1;
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
    else if (hm_ledger_read(&step->config, step->job_id, job, error) == 0)
        result = hm_migrator_collect(&step->config, job, step->step_id, error);
    else if (errno == ENOENT) /* the job has ended, and has its record */
        hm_ledger_remove(&step->config, step->job_id, NULL);
    hm_ledger_unlock(lock);
    free(job);
    return result;
}
