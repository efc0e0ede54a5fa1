/* SPDX-License-Identifier: Apache-2.0 */
#include "idle.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "job/ledger/living.h"
#include "job/ledger/log.h"
#include "slurm/squeue.h"

#define SECOND_NS UINT64_C(1000000000)
#define DAY_S 86400
#define MOST_ASKED 8 /* an answer may take 2.5 s, and a prolog or an epilog waits for them all */

/* Counts the job's grace from now on, unless its entry has changed since it was read. */
static void begin_grace(const struct hm_config *config, const struct hm_job *job)
{
    struct hm_error error = {0};
    struct hm_job *now = malloc(sizeof(*now));
    int lock = now ? hm_ledger_lock(config, &error) : hm_fail(&error, ENOMEM, "no memory for the ledger's entry");
    if (lock >= 0 && hm_ledger_read(config, job->job_id, now, NULL) == 0 && now->start_ns == job->start_ns &&
        now->end_ns == 0 && now->dead_ns != 0) {
        now->dead_ns = (int64_t)hm_clock_ns(CLOCK_REALTIME);
        now->dead_boot_ns = hm_clock_ns(CLOCK_BOOTTIME);
        (void)hm_ledger_write(config, now, &error);
    }
    hm_ledger_unlock(lock);
    free(now);
    if (error.text[0])
        hm_log(HM_LOG_ERROR, "job %u: %s", job->job_id, error.text);
}

/* The entry has the time limit that the job began with, which may have been raised since. So a job may run for a day
 * after it was found dead at least. */
static bool may_still_run(const struct hm_job *job, unsigned grace_s)
{
    return hm_clock_ns(CLOCK_BOOTTIME) - job->dead_boot_ns < DAY_S * SECOND_NS ||
           hm_clock_ns(CLOCK_REALTIME) / SECOND_NS < job->end_s + grace_s;
}

bool hm_idle_is_job(const struct hm_config *config, const struct hm_job *job, unsigned grace_s, struct hm_idle *idle)
{
    struct hm_error why = {0};
    if (hm_job_is_over(job))
        return false;
    if (!idle->is_silent && idle->n_asked == MOST_ASKED)
        return true;
    idle->n_asked += !idle->is_silent;
    int running = idle->is_silent ? -1 : hm_squeue_is_running(job->job_id, job->node, &why);
    if (running == 0)
        return false;
    if (running > 0) {
        hm_log(HM_LOG_INFO, "job %u has no process on this node, and runs by what slurmctld says", job->job_id);
        begin_grace(config, job);
        return true;
    }
    if (!idle->is_silent)
        hm_log(HM_LOG_WARNING, "whether jobs without a process run is not known: %s", why.text);
    idle->is_silent = true;
    return may_still_run(job, grace_s);
}
