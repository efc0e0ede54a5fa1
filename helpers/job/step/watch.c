/* SPDX-License-Identifier: Apache-2.0 */
/* Starts what measures the job: its monitor, and the resctrl group that the monitor reads. */
#include <errno.h>
#include <sys/wait.h>

#include "base/process.h"
#include "job/node/mongroup.h"
#include "job/programs/monitor.h"
#include "parts.h"

#define PATIENCE_MS 2000 /* for a monitor that is not wanted any more */

int hm_step_read_again(struct hm_preparation *p, const char *loss, struct hm_error *error)
{
    int64_t start_ns = p->job->start_ns;
    if (hm_ledger_read(&p->step->config, p->step->job_id, p->job, error) != 0)
        return -1;
    return p->job->start_ns == start_ns && p->job->finisher.pid == 0
               ? 0
               : hm_fail(error, ESRCH, "job %u has ended meanwhile: %s", p->step->job_id, loss);
}

void hm_step_begin_watch(struct hm_preparation *p)
{
    struct hm_job *job = p->job;
    job->recorded = job->recorded || p->step->is_active || p->step->config.record == HM_RECORD_ALL;
    if (!job->recorded)
        return;
    if (!job->cgroup[0]) {
        hm_job_warn(job, "memory is not measured: " HM_STEP_NO_CGROUP);
        return;
    }
    if (p->step->tiers.n_tiers == 0) {
        hm_job_warn(job, "memory is not measured: %s", p->tiers_error.text);
        return;
    }
    /* The group is made first, as the monitor reads the group's counters. */
    hm_mongroup_make(&p->step->config, job, p->facts->step_id);
    p->must_start_monitor = hm_monitor_begin(job);
}

int hm_step_watch(struct hm_preparation *p, struct hm_error *error)
{
    const struct hm_config *config = &p->step->config;
    struct hm_process monitor = {0};
    struct hm_error failure = {0};
    int result = -1;
    bool runs = hm_monitor_launch(config, &p->step->tiers, p->job, &monitor, &failure) == 0;
    int lock = hm_ledger_lock(config, error);
    if (lock >= 0 && hm_step_read_again(p, "its memory is not measured", error) == 0) {
        hm_monitor_note(p->job, runs ? &monitor : NULL);
        if (!runs)
            hm_job_warn(p->job, "memory is not measured: %s", failure.text);
        result = hm_ledger_write(config, p->job, error);
    }
    hm_ledger_unlock(lock);
    if (result != 0 && runs) {
        hm_process_stop(&monitor, PATIENCE_MS, NULL);
        waitpid(monitor.pid, NULL, WNOHANG);
    }
    return result;
}
