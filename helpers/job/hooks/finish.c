/* SPDX-License-Identifier: Apache-2.0 */
#include "finish.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/size.h"
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

_Static_assert(HM_JOB_MIGRATORS + 1 <= HM_STOP_MOST, "hm_process_stop_all must have room for all programs of a job");

void hm_finish_stop_helpers(const struct hm_job *job, int patience_ms)
{
    struct hm_error error = {0};
    struct hm_process helper[HM_JOB_MIGRATORS + 1] = {job->monitor};
    for (int i = 0; i < HM_JOB_MIGRATORS; i++)
        helper[i + 1] = job->migrator[i].process;
    if (hm_process_stop_all(helper, HM_JOB_MIGRATORS + 1, patience_ms, &error) != 0)
        hm_log(HM_LOG_ERROR, "job %u: its monitor or a migrator was not stopped: %s", job->job_id, error.text);
}

/*
 * Notes when the job ended: when it was found dead, if that was noted and this is not its own epilog; otherwise now. A
 * process that takes over from one that was killed keeps the time that is noted. So its record is of the same day, and
 * the store finds what the other has written.
 */
static void note_end(struct hm_job *job, bool is_own_epilog)
{
    if (job->end_ns == 0)
        job->end_ns = job->dead_ns && !is_own_epilog ? job->dead_ns : (int64_t)hm_clock_ns(CLOCK_REALTIME);
    if (job->dead_ns == 0)
        job->dead_ns = job->end_ns;
    if (job->dead_boot_ns == 0)
        job->dead_boot_ns = hm_clock_ns(CLOCK_BOOTTIME);
    job->has_ended = job->has_ended || is_own_epilog;
}

/* What a process finds when it takes an entry. */
struct found {
    /* memory of the job may be left for a later reap: the entry was unreadable and was removed, or the namespaces were
     * not removed */
    bool is_left;
    bool is_again; /* an earlier process took it, and may have written the record */
};

/* Takes the entry for this process and undoes the job's changes. Returns 0; 1 where there is nothing to do; or -1. */
static int claim(const struct hm_config *config, uint32_t job_id, bool is_own_epilog, struct hm_job *job,
                 struct found *found)
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
        /*
         * Nobody can read the entry, and nobody needs it after the job's end. Reap looks for memory that the job may
         * have had.
         */
        found->is_left = errno == EBADMSG && hm_ledger_remove(config, job_id, NULL) == 0;
    } else if (hm_process_is_running(&job->finisher)) {
        result = 1;
    } else if (hm_process_identify(getpid(), &job->finisher) != 0) {
        hm_fail(&error, ESRCH, "job %u: this process is not in /proc", job_id);
    } else {
        hm_finish_undo(config, job);
        found->is_again = job->end_ns != 0;
        note_end(job, is_own_epilog);
        result = hm_ledger_write(config, job, &error);
    }
    hm_ledger_unlock(lock);
    if (result < 0)
        hm_log(HM_LOG_ERROR, "%s", error.text);
    return result;
}

/*
 * Reads the entry, and checks that it still is the one that was claimed: a new run under the same number may have made
 * its own meanwhile. The caller holds the lock.
 */
static bool read_ours(const struct hm_config *config, const struct hm_job *job, struct hm_job *now)
{
    return hm_ledger_read(config, job->job_id, now, NULL) == 0 && now->finisher.pid == getpid() &&
           now->restart == job->restart && now->start_ns == job->start_ns;
}

/*
 * Takes the figures that the job's migrators left. It holds the lock, as the end of a late step may take the figures of
 * its own migrator at the same time. What that step put into the entry after the claim is taken over for the record.
 * Returns true where the entry still is the one that was claimed.
 */
static bool take_figures(const struct hm_config *config, struct hm_job *job)
{
    struct hm_error error = {0};
    struct hm_job *now = malloc(sizeof(*now));
    int lock = now ? hm_ledger_lock(config, &error) : hm_fail(&error, ENOMEM, "no memory for the ledger's entry");
    bool is_ours = lock >= 0 && read_ours(config, job, now);
    if (is_ours) {
        *job = *now;
        if (hm_migrator_collect_all(config, job, &error) != 0)
            hm_job_warn(job, "the figures of its migrators were not all taken: %s", error.text);
        hm_ledger_write(config, job, &error);
    }
    if (lock < 0)
        hm_job_warn(job, "the figures of its migrators were not taken: %s", error.text);
    hm_ledger_unlock(lock);
    free(now);
    if (error.text[0])
        hm_log(HM_LOG_ERROR, "job %u: %s", job->job_id, error.text);
    return is_ours;
}

/*
 * Removes the job's resctrl group. Its monitor has stopped, so nobody reads it any more. If this fails, reap tries
 * again. This does not hold the lock, as a user may make it take long (node/mongroupremove.c).
 */
static void remove_group(const struct hm_config *config, struct hm_job *job)
{
    struct hm_error error = {0};
    if (hm_mongroup_remove(config, job->job_id, job->uid, &job->mongroup, &error) == 0)
        return;
    hm_log(HM_LOG_ERROR, "job %u: its resctrl group was not removed: %s", job->job_id, error.text);
    hm_job_warn(job, "its resctrl group was not removed: %s", error.text);
}

/*
 * Is this an error after which a later reap takes the memory back? It is if the memory is in use, if it still has to be
 * wiped, or if hybridmem-namespace could not be started in time, could not be started for want of memory, processes or
 * descriptors, or was killed by SIGKILL, as on a node short of memory. Users can cause all of these, by open files or
 * by an overload, and they must not drain nodes in that way. Until the reap the memory's label names the job, so nobody
 * else gets it.
 */
static bool is_for_later(int number)
{
    return number == EBUSY || number == ETIME || number == ETIMEDOUT || hm_is_shortage(number);
}

/*
 * Removes the job's namespaces. Returns true where a later reap is to take the memory back (is_for_later). After any
 * other failure the node is drained: memory that cannot be taken back must not be given to anybody. hybridmem drains a
 * node for no other reason (reap.c does so, too).
 */
static bool remove_namespaces(const struct hm_config *config, struct hm_job *job, bool waits)
{
    struct hm_error error = {0}, why = {0};
    char reason[HM_ERROR_TEXT];
    if (hm_namespaces_remove(config, job, waits, &error) == 0)
        return false;
    int number = errno;
    hm_log(HM_LOG_ERROR, "job %u: its DAX file systems were not removed: %s", job->job_id, error.text);
    hm_job_warn(job, "its DAX file systems were not removed: %s", error.text);
    if (is_for_later(number))
        return true;
    snprintf(reason, sizeof(reason), "hybridmem: job %u: persistent memory was not given back: %.160s", job->job_id,
             error.text);
    if (hm_scontrol_drain(job->node, reason, &why) != 0)
        hm_log(HM_LOG_ERROR, "node %s is not drained: %s", job->node, why.text);
    return false;
}

/* Reads slurmctld's name of the job into the ids: "5_3" is a task of an array, "7" and "7+1" are none. */
static int read_ids(char *name, struct hm_job *job, struct hm_error *error)
{
    uint64_t array, task;
    char *second = strchr(name, '_');
    if (!second)
        return 0;
    *second++ = '\0';
    if (hm_size_parse_number(name, 0, HM_NO_ID - 1, &array, NULL) != 0 ||
        hm_size_parse_number(second, 0, HM_NO_ID - 1, &task, NULL) != 0)
        return hm_fail(error, EINVAL, "slurmctld names it %s_%s", name, second);
    job->array_job_id = (uint32_t)array;
    job->array_task_id = (uint32_t)task;
    return 0;
}

/*
 * Ids of an array that a step's environment claims (step/step.c) are no more than a reason to ask slurmctld: the record
 * gets what slurmctld says. It is asked in the job's own epilog alone: at boot it may not answer, and each question
 * would take its time.
 */
static void ask_for_array(struct hm_job *job, bool may_ask)
{
    struct hm_error why = {0};
    char likely[32], name[32] = "";
    if (job->array_is_told || job->array_job_id == HM_NO_ID)
        return;
    /* Asked for 5 or 5_3, slurmctld sends all tasks of array 5. A job's own number brings that job alone, unless it is
     * the array's number. */
    bool has_number_of_array = job->array_job_id == job->job_id;
    snprintf(likely, sizeof(likely), "%u_%u", job->array_job_id, job->array_task_id);
    job->array_job_id = job->array_task_id = HM_NO_ID;
    int result = may_ask ? hm_scontrol_name(job->job_id, has_number_of_array ? likely : NULL, name, sizeof(name), &why)
                         : hm_fail(&why, ENODATA, "its epilog did not run");
    job->array_is_told = result == 0 && read_ids(name, job, &why) == 0;
    if (!job->array_is_told)
        hm_job_warn(job, "whether it is a task of an array is not known: %s", why.text);
}

/* Returns -1 where the record could not be written to any place. */
static int write_record(const struct hm_config *config, const struct hm_job *job, bool may_be_stored)
{
    char path[HM_CONFIG_PATH_MAX + 32];
    struct hm_error error = {0};
    struct hm_tiers *tiers = calloc(1, sizeof(*tiers));
    bool has_tiers = tiers && hm_nodetiers_read(config, tiers, NULL) == 0;
    hm_ledger_samples_path(config, job->job_id, path, sizeof(path));
    int result = hm_record_write(config, has_tiers ? tiers : NULL, job, path, job->end_ns, may_be_stored, &error);
    if (result < 0)
        hm_log(HM_LOG_ERROR, "job %u: its record cannot be written, and waits in the ledger: %s", job->job_id,
               error.text);
    else if (error.text[0])
        hm_log(HM_LOG_WARNING, "job %u: %s%s", job->job_id, result > 0 ? "its record is kept for later: " : "",
               error.text);
    free(tiers);
    return result;
}

/*
 * Removes the entry. If its record still has to be written (`is_kept`), or a setting of the node to be restored, the
 * entry stays, free for the next reap. What a late step has changed, and what could not be restored before, is restored
 * here. Returns 0, 1 where the entry stays, or -1.
 */
static int let_go(const struct hm_config *config, struct hm_job *job, bool is_kept)
{
    struct hm_error error = {0};
    int result = -1;
    struct hm_job *now = malloc(sizeof(*now));
    int lock = now ? hm_ledger_lock(config, &error) : hm_fail(&error, ENOMEM, "no memory for the ledger's entry");
    if (lock < 0 || !read_ours(config, job, now))
        goto done;
    job->n_changes = now->n_changes;
    memcpy(job->change, now->change, sizeof(job->change));
    hm_finish_undo(config, job);
    job->finisher = (struct hm_process){0};
    job->recorded = is_kept;
    if (is_kept || job->n_changes > 0)
        result = hm_ledger_write(config, job, &error) == 0 ? 1 : -1;
    else
        result = hm_ledger_remove(config, job->job_id, &error);
done:
    hm_ledger_unlock(lock);
    free(now);
    if (error.text[0])
        hm_log(HM_LOG_ERROR, "job %u: %s", job->job_id, error.text);
    return result;
}

/*
 * Notes the exit status that Slurm gave to its epilog, unless that is 0 and the final status is noted already. For a
 * job that Slurm ended itself (scancel, the time limit), it gives 0, as it does not yet know how the batch script
 * ended. If the script ran on this node, slurmstepd has noted the true status: it waits for all tasks before the epilog
 * runs.
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
    struct found found = {false, false};
    const bool is_own_epilog = !warning;
    int result = job ? claim(config, job_id, is_own_epilog, job, &found) : -1;
    if (result == 0) {
        /* From here on the lock is held only for moments: the record's folder may be on a file system that hangs. */
        hm_finish_stop_helpers(job, is_own_epilog ? HM_FINISH_PATIENCE_MS : HM_FINISH_ORPHAN_PATIENCE_MS);
        if (take_figures(config, job))
            remove_group(config, job);
        found.is_left = remove_namespaces(config, job, is_own_epilog);
        if (!job->is_entered)
            hm_job_warn(job, "the prolog did not note this job, so its account and partition are not known");
        if (warning && !job->has_ended)
            hm_job_warn(job, "%s", warning);
        if (exit_status)
            note_status(job, *exit_status);
        if (job->recorded)
            ask_for_array(job, is_own_epilog);
        bool is_kept = job->recorded && write_record(config, job, found.is_again) < 0;
        result = let_go(config, job, is_kept);
        found.is_left = found.is_left && result == 0;
    }
    if (!job)
        hm_log(HM_LOG_ERROR, "job %u: no memory for the ledger's entry", job_id);
    free(job);
    if (found.is_left)
        return 1;
    return result < 0 ? -1 : 0;
}
