/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends a step's migrator. */
#include <errno.h>
#include <stdlib.h>

#include "base/files.h"
#include "base/process.h"
#include "job/ledger/living.h"
#include "job/programs/damonstart.h"
#include "job/programs/migrator.h"
#include "parts.h"

/* Starts the migrator. If that fails, the entry gets a warning. Wants the lock. */
static void start_migrator(struct hm_preparation *p, const char *broker)
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

/* Starting the broker may take long, so the lock is not held for it. */
int hm_step_migrate(struct hm_preparation *p, struct hm_error *error)
{
    const struct hm_config *config = &p->step->config;
    char broker[HM_CONFIG_PATH_MAX + 16], home[HM_JOB_CGROUP];
    struct hm_error why = {0};
    int result = -1;
    bool is_meant = hm_sampling_may_have(p->migration.keys.source, HM_SAMPLING_BROKER);
    hm_text_copy(home, p->job->home_cgroup[0] ? p->job->home_cgroup : "/sys/fs/cgroup", sizeof(home));
    /* The broker is started even if another source is asked for: DAMON may be used if that source does not work. */
    hm_damon_ensure(config, home, &why);
    int lock = hm_ledger_lock(config, error);
    if (lock < 0 || hm_ledger_read(config, p->step->job_id, p->job, error) != 0)
        goto done;
    if (p->job->finisher.pid != 0) { /* nobody would end a migrator that is started now */
        hm_fail(error, ESRCH, "job %u has ended meanwhile: nothing is migrated", p->step->job_id);
        goto done;
    }
    if (why.text[0] && is_meant)
        hm_job_warn(p->job, "DAMON cannot be used: %s", why.text);
    start_migrator(p, hm_damon_socket_path(config, broker, sizeof(broker)));
    result = hm_ledger_write(config, p->job, error);
done:
    hm_ledger_unlock(lock);
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
    else if (hm_ledger_read(&step->config, step->job_id, job, error) == 0)
        result = hm_migrator_collect(&step->config, job, step->step_id, error);
    hm_ledger_unlock(lock);
    free(job);
    return result;
}
