/* SPDX-License-Identifier: Apache-2.0 */
#include "revive.h"

#include <string.h>

bool hm_revive_is_due(const struct hm_job *now)
{
    return now->dead_ns == 0 && !now->has_ended;
}

static uint32_t named(uint32_t n_steps)
{
    return n_steps < HM_JOB_STEPS ? n_steps : HM_JOB_STEPS;
}

static void forget_steps(struct hm_job *job, uint32_t n_steps)
{
    uint32_t before = named(n_steps), left = named(job->n_steps) - before;
    memmove(job->step, job->step + before, left * sizeof(job->step[0]));
    job->n_steps = left;
}

void hm_revive(const struct hm_job *job, bool is_written, const struct hm_found *found, struct hm_job *now)
{
    const struct hm_process none = {0};
    now->finisher = now->monitor_starter = none;
    now->end_ns = now->dead_ns = 0;
    now->dead_boot_ns = 0;
    now->namespaces = job->namespaces;
    if (found->has_no_group)
        memset(&now->mongroup, 0, sizeof(now->mongroup));
    hm_job_warn(now, "this node had taken the job for dead when a step began: that step is not measured");
    if (!is_written)
        return;
    now->monitor = none; /* else the next step's monitor goes on with the samples */
    now->start_ns = job->end_ns;
    now->memory_peak = 0;
    now->peak_before = found->peak > now->peak_before ? found->peak : now->peak_before;
    now->has_exit_status = now->exit_status_is_final = false;
    now->has_taken = false;
    hm_migration_clear(&now->migration);
    forget_steps(now, found->n_steps);
    hm_job_warn(now, "another record has what the job did before");
}
