/* SPDX-License-Identifier: Apache-2.0 */
#include "finish.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "base/size.h"
#include "claim.h"
#include "core/tiers/node.h"
#include "job/ledger/log.h"
#include "job/namespaces/namespaces.h"
#include "job/node/mongroup.h"
#include "job/programs/recordings.h"
#include "job/record/record.h"
#include "meter/monitor/samples.h"
#include "revive.h"
#include "slurm/scontrol.h"

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
                         : hm_fail(&why, ENODATA, "its epilog %s", job->has_ended ? "was cut short" : "did not run");
    job->array_is_told = result == 0 && read_ids(name, job, &why) == 0;
    if (!job->array_is_told)
        hm_job_warn(job, "whether it is a task of an array is not known: %s", why.text);
}

/* What the job's monitor has measured, and if nothing, why. */
struct measured {
    struct hm_samples *samples;
    struct hm_error why;
};

static void forget(struct measured *measured)
{
    free(measured->samples);
    measured->samples = NULL;
}

/* The kernel's peak of the job's memory, which the record has; 0: it is not known. */
static uint64_t peak_of(const struct hm_job *job, const struct hm_samples *samples)
{
    uint64_t peak = samples && samples->peak_source == HM_PEAK_KERNEL ? samples->memory_peak : 0;
    return peak > job->memory_peak ? peak : job->memory_peak;
}

/* Reads it once the monitor has stopped: another run of the job may use the file's name later. */
static void read_samples(const struct hm_config *config, uint32_t job_id, struct measured *measured)
{
    char path[HM_CONFIG_PATH_MAX + 32];
    measured->samples = malloc(sizeof(*measured->samples));
    if (!measured->samples) {
        hm_fail(&measured->why, ENOMEM, "no memory");
        return;
    }
    hm_ledger_samples_path(config, job_id, path, sizeof(path));
    if (hm_samples_read(path, measured->samples, &measured->why) == 0)
        return;
    if (errno == ENOENT)
        hm_fail(&measured->why, ENOENT, "no monitor ran on this node");
    forget(measured);
}

/* Returns -1 where the record could not be written to any place, and is to wait in the ledger. */
static int write_record(const struct hm_config *config, const struct hm_job *job, const struct measured *measured,
                        enum hm_store_way way)
{
    struct hm_error error = {0};
    struct hm_tiers *tiers = calloc(1, sizeof(*tiers));
    bool has_tiers = tiers && hm_nodetiers_read(config, tiers, NULL) == 0;
    int result = hm_record_write(config, has_tiers ? tiers : NULL, job, measured->samples, measured->why.text,
                                 job->end_ns, way, &error);
    if (result < 0 || result == 2)
        hm_log(HM_LOG_ERROR, "job %u: its record cannot be written, and %s: %s", job->job_id,
               result < 0 ? "waits in the ledger" : "is lost", error.text);
    else if (error.text[0])
        hm_log(HM_LOG_WARNING, "job %u: %s%s", job->job_id, result > 0 ? "its record is kept for later: " : "",
               error.text);
    free(tiers);
    return result;
}

/*
 * The job's own epilog appends the record itself. Others have more to do, which must not wait where the folder of
 * records hangs: the next job's prolog, say, has memory to make for it.
 */
static enum hm_store_way way_of(bool is_own_epilog, bool is_again)
{
    if (!is_own_epilog)
        return HM_STORE_LATER;
    return is_again ? HM_STORE_AGAIN : HM_STORE_AT_ONCE;
}

/* Takes back what the job had, and writes its record. `is_ours`: no other run has the entry. Returns as
 * hm_claim_let_go. */
static int complete(const struct hm_config *config, struct hm_job *job, const char *warning, bool is_ours,
                    const struct measured *measured, struct hm_found *found)
{
    const bool is_own_epilog = !warning;
    if (is_ours) {
        remove_group(config, job);
        hm_recordings_remove(job);
        found->has_no_group = true;
    }
    found->is_left = remove_namespaces(config, job, is_own_epilog);
    if (!job->is_entered)
        hm_job_warn(job, "the prolog did not note this job, so its account and partition are not known");
    if (warning && !job->has_ended)
        hm_job_warn(job, "%s", warning);
    if (job->recorded)
        ask_for_array(job, is_own_epilog);
    bool is_kept = job->recorded && write_record(config, job, measured, way_of(is_own_epilog, found->is_again)) < 0;
    int result = hm_claim_let_go(config, job, is_kept, found);
    found->is_left = found->is_left && result == 0;
    return result;
}

/* Does all that has to be done for a job that has ended. Returns as hm_claim_let_go. */
static int finish(const struct hm_config *config, struct hm_job *job, const char *warning, struct hm_found *found)
{
    struct measured measured = {0};
    /* From here on the lock is held only for moments: the record's folder may be on a file system that hangs. */
    hm_finish_stop_helpers(job, warning ? HM_FINISH_ORPHAN_PATIENCE_MS : HM_FINISH_PATIENCE_MS);
    read_samples(config, job->job_id, &measured);
    bool is_ours = hm_claim_take_figures(config, job, &measured.why);
    if (!is_ours)
        forget(&measured);
    found->peak = peak_of(job, measured.samples);
    int result = is_ours && hm_revive_is_due(job) ? hm_claim_let_go(config, job, true, found)
                                                  : complete(config, job, warning, is_ours, &measured, found);
    forget(&measured);
    return result;
}

static int end_job(const struct hm_config *config, uint32_t job_id, const struct hm_claimant *claimant,
                   const char *warning)
{
    struct hm_job *job = malloc(sizeof(*job));
    struct hm_found found = {0};
    int result = job ? hm_claim_take(config, job_id, claimant, job, &found) : -1;
    if (result == 0)
        result = finish(config, job, warning, &found);
    if (!job)
        hm_log(HM_LOG_ERROR, "job %u: no memory for the ledger's entry", job_id);
    free(job);
    if (found.is_left)
        return 1;
    return result < 0 ? -1 : 0;
}

int hm_finish_job(const struct hm_config *config, uint32_t job_id, const char *warning, const int *exit_status)
{
    const struct hm_claimant claimant = {.is_own_epilog = !warning, .exit_status = exit_status};
    return end_job(config, job_id, &claimant, warning);
}

int hm_finish_dead(const struct hm_config *config, const struct hm_job *judged, const char *warning)
{
    return end_job(config, judged->job_id, &(struct hm_claimant){.judged = judged}, warning);
}
