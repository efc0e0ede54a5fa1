/* SPDX-License-Identifier: Apache-2.0 */
#include "living.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bootid.h"
#include "base/files.h"
#include "base/heldlock.h"

void hm_life_look(const struct hm_job *job, struct hm_life *life)
{
    char path[HM_JOB_CGROUP + 16], events[256];
    *life = (struct hm_life){.n_steps = job->n_steps, .start_ns = job->start_ns};
    hm_text_copy(life->cgroup, job->cgroup, sizeof(life->cgroup));
    if (!job->cgroup[0] || hm_heldlock_check("a look at a cgroup", NULL) != 0)
        return;
    snprintf(path, sizeof(path), "%s/cgroup.events", job->cgroup);
    /* The cgroup is removed once it is empty. */
    if (hm_file_read(path, events, sizeof(events), NULL) == 0)
        life->is_dead = !strstr(events, "populated 1");
    else
        life->is_dead = errno == ENOENT || errno == ENODEV;
}

void hm_life_read(const struct hm_config *config, uint32_t job_id, struct hm_job *job, struct hm_life *life)
{
    *life = (struct hm_life){0};
    if (hm_ledger_read(config, job_id, job, NULL) == 0)
        hm_life_look(job, life);
}

bool hm_job_is_over(const struct hm_job *job)
{
    return job->has_ended || job->end_ns != 0 || hm_boot_is_past(job->boot_id);
}

bool hm_job_has_finisher(const struct hm_job *job)
{
    /* In this order, as it may end between the two looks. */
    return !hm_process_is_ending(&job->finisher) && hm_process_is_running(&job->finisher);
}

bool hm_job_is_living(const struct hm_job *job, const struct hm_life *life)
{
    if (hm_boot_is_past(job->boot_id))
        return false;
    /*
     * No step has started, or this is cgroup v1. `dead_ns` is set by whoever ends the job or finds it dead; a step that
     * starts sets it back to 0.
     */
    if (!job->cgroup[0])
        return job->dead_ns == 0;
    bool is_unchanged = life && life->start_ns == job->start_ns && life->n_steps == job->n_steps &&
                        strcmp(life->cgroup, job->cgroup) == 0;
    return !is_unchanged || !life->is_dead;
}
