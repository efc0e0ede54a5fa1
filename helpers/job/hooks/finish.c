/* SPDX-License-Identifier: Apache-2.0 */
#include "finish.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "core/tiers/node.h"
#include "job/ledger/log.h"
#include "job/namespaces/namespaces.h"
#include "job/node/changes.h"
#include "job/node/mongroup.h"
#include "job/programs/migrator.h"
#include "job/record/record.h"
#include "slurm/scontrol.h"

void hm_finish_undo(const struct hm_config *config, struct hm_job *job)
{
    struct hm_error error = {0};
    if (hm_changes_undo(config, job, &error) == 0)
        return;
    hm_log(HM_LOG_ERROR, "job %u: a setting was not restored: %s", job->job_id, error.text);
    hm_job_warn(job, "a setting was not restored: %s", error.text);
}

_Static_assert(HM_JOB_MIGRATORS + 1 <= HM_STOP_MOST, "a job's programs are stopped all at a time");

void hm_finish_stop_helpers(const struct hm_job *job, int patience_ms)
{
    struct hm_error error = {0};
    struct hm_process helper[HM_JOB_MIGRATORS + 1] = {job->monitor};
    for (int i = 0; i < HM_JOB_MIGRATORS; i++)
        helper[i + 1] = job->migrator[i].process;
    if (hm_process_stop_all(helper, HM_JOB_MIGRATORS + 1, patience_ms, &error) != 0)
        hm_log(HM_LOG_ERROR, "job %u: its monitor or a migrator was not stopped: %s", job->job_id, error.text);
}

/* The job's end is when it was first claimed, or, where that is not its epilog, when it was found dead: who comes after
 * one that was killed writes a record with the same end again, and not one of another day. */
static void note_end(struct hm_job *job, bool is_own_epilog)
{
    if (job->end_ns == 0)
        job->end_ns = job->dead_ns && !is_own_epilog ? job->dead_ns : hm_now_ns();
    if (job->dead_ns == 0)
        job->dead_ns = job->end_ns;
    job->has_ended = job->has_ended || is_own_epilog;
}

/* Take the entry for ourselves and undo the job's changes. Returns 0, 1 where there is nothing to do, or -1; `is_left`
 * where the entry was removed unread. */
static int claim(const struct hm_config *config, uint32_t job_id, bool is_own_epilog, struct hm_job *job, bool *is_left)
{
    struct hm_error error = {0};
    int result = -1;
    int lock = hm_ledger_lock(config, &error);
    if (lock < 0) {
        hm_log(HM_LOG_ERROR, "job %u: %s", job_id, error.text);
        return -1;
    }
    if (hm_ledger_read(config, job_id, job, &error) != 0) {
        result = errno == ENOENT ? 1 : -1;
        /* Nobody can read it, and with the job's end nobody needs it: what the job may have had is for the reap. */
        *is_left = errno == EBADMSG && hm_ledger_remove(config, job_id, NULL) == 0;
    } else if (hm_process_is_running(&job->finisher)) {
        result = 1;
    } else {
        hm_finish_undo(config, job);
        hm_process_identify(getpid(), &job->finisher);
        note_end(job, is_own_epilog);
        result = hm_ledger_write(config, job, &error);
    }
    hm_ledger_unlock(lock);
    if (result < 0)
        hm_log(HM_LOG_ERROR, "%s", error.text);
    return result;
}

/* Read the entry, if it still is the one that was claimed: a new run under the same number may have made its own
 * meanwhile. Wants the lock. */
static bool read_ours(const struct hm_config *config, const struct hm_job *job, struct hm_job *now)
{
    return hm_ledger_read(config, job->job_id, now, NULL) == 0 && now->finisher.pid == getpid() &&
           now->restart == job->restart && now->start_ns == job->start_ns;
}

/* Its monitor has read it for the last time. What is left here is for a reap. */
static void remove_group(const struct hm_config *config, struct hm_job *job)
{
    struct hm_error error = {0};
    if (hm_mongroup_remove(config, job->job_id, &job->mongroup, &error) == 0)
        return;
    hm_log(HM_LOG_ERROR, "job %u: its resctrl group is left: %s", job->job_id, error.text);
    hm_job_warn(job, "its resctrl group is left: %s", error.text);
}

/*
 * What the job's migrators left. Under the lock: the end of a step may be late, and take the figures of its own. What
 * it has put into the entry since that was claimed is ours to report as well.
 */
static void take_figures(const struct hm_config *config, struct hm_job *job)
{
    struct hm_error error = {0};
    struct hm_job *now = malloc(sizeof(*now));
    int lock = now ? hm_ledger_lock(config, &error) : hm_fail(&error, ENOMEM, "no memory for the ledger's entry");
    if (lock >= 0 && read_ours(config, job, now)) {
        *job = *now;
        if (hm_migrator_collect_all(config, job, &error) != 0)
            hm_job_warn(job, "the figures of its migrators were not all taken: %s", error.text);
        remove_group(config, job);
        hm_ledger_write(config, job, &error);
    }
    if (lock < 0)
        hm_job_warn(job, "the figures of its migrators were not taken: %s", error.text);
    hm_ledger_unlock(lock);
    free(now);
    if (error.text[0])
        hm_log(HM_LOG_ERROR, "job %u: %s", job->job_id, error.text);
}

/* Memory that cannot be taken back must not be given to anybody: the one case in which a node is drained. Returns true
 * where a later reap is to take it back. */
static bool remove_namespaces(const struct hm_config *config, struct hm_job *job, bool waits)
{
    struct hm_error error = {0}, why = {0};
    char reason[HM_ERROR_TEXT];
    if (hm_namespaces_remove(config, job, waits, &error) == 0)
        return false;
    bool is_for_later = errno == EBUSY || errno == ETIME;
    hm_log(HM_LOG_ERROR, "job %u: its DAX file systems were not removed: %s", job->job_id, error.text);
    hm_job_warn(job, "its DAX file systems were not removed: %s", error.text);
    /* The label still has the job's name: nobody is given it, and each reap tries again. Whoever keeps it in use could
     * drain nodes otherwise; what is still to be wiped waits for its time. */
    if (is_for_later)
        return true;
    snprintf(reason, sizeof(reason), "hybridmem: job %u: persistent memory was not given back: %.160s", job->job_id,
             error.text);
    if (hm_scontrol_drain(job->node, reason, &why) != 0)
        hm_log(HM_LOG_ERROR, "node %s is not drained: %s", job->node, why.text);
    return false;
}

/* Returns -1 where the record could be kept nowhere. */
static int write_record(const struct hm_config *config, const struct hm_job *job)
{
    char path[HM_CONFIG_PATH_MAX + 32];
    struct hm_error error = {0};
    struct hm_tiers *tiers = calloc(1, sizeof(*tiers));
    bool has_tiers = tiers && hm_nodetiers_read(config, tiers, NULL) == 0;
    hm_ledger_samples_path(config, job->job_id, path, sizeof(path));
    int result = hm_record_write(config, has_tiers ? tiers : NULL, job, path, job->end_ns, &error);
    if (result < 0)
        hm_log(HM_LOG_ERROR, "job %u: its record can be kept nowhere, and waits in the ledger: %s", job->job_id,
               error.text);
    else if (error.text[0])
        hm_log(HM_LOG_WARNING, "job %u: %s%s", job->job_id, result > 0 ? "its record is kept for later: " : "",
               error.text);
    free(tiers);
    return result;
}

/* Remove the entry, or, where its record waits, give it back to the next pass. */
static int let_go(const struct hm_config *config, struct hm_job *job, bool is_kept)
{
    struct hm_error error = {0};
    int result = -1;
    struct hm_job *now = malloc(sizeof(*now));
    int lock = now ? hm_ledger_lock(config, &error) : hm_fail(&error, ENOMEM, "no memory for the ledger's entry");
    if (lock < 0 || !read_ours(config, job, now))
        goto done;
    job->finisher = (struct hm_process){0};
    result = is_kept ? hm_ledger_write(config, job, &error) : hm_ledger_remove(config, job->job_id, &error);
done:
    hm_ledger_unlock(lock);
    free(now);
    if (error.text[0])
        hm_log(HM_LOG_ERROR, "job %u: %s", job->job_id, error.text);
    return result;
}

/*
 * Slurm's own status, but for the 0 of a job that it ended itself (scancel, the time limit): it has not heard of the
 * batch script by then, and tells its epilogs what stood there at the start. Where the script ran here, slurmstepd
 * has: it waits for all tasks before there is an epilog.
 */
static void note_status(struct hm_job *job, int status)
{
    if (status == 0 && job->exit_status_is_final)
        return;
    job->exit_status = status;
    job->has_exit_status = job->exit_status_is_final = true;
}

int hm_finish_job(const struct hm_config *config, uint32_t job_id, const char *warning, const int *exit_status)
{
    struct hm_job *job = malloc(sizeof(*job));
    bool is_left = false, is_own_epilog = !warning;
    int result = job ? claim(config, job_id, is_own_epilog, job, &is_left) : -1;
    if (result == 0) {
        /* The lock is not held from here on, but for moments: the record's folder may be a file system that hangs. */
        hm_finish_stop_helpers(job, is_own_epilog ? HM_FINISH_PATIENCE_MS : HM_FINISH_ORPHAN_PATIENCE_MS);
        take_figures(config, job);
        is_left = remove_namespaces(config, job, is_own_epilog);
        if (!job->is_entered)
            hm_job_warn(job, "the prolog has not entered this job: account and partition are not known");
        if (warning && !job->has_ended)
            hm_job_warn(job, "%s", warning);
        if (exit_status)
            note_status(job, *exit_status);
        bool is_kept = job->recorded && write_record(config, job) < 0;
        result = let_go(config, job, is_kept);
        is_left = is_left && !is_kept && result == 0;
    }
    free(job);
    if (is_left)
        return 1;
    return result < 0 ? -1 : 0;
}
