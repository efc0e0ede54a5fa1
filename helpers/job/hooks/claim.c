/* SPDX-License-Identifier: Apache-2.0 */
#include "claim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "job/ledger/epilog.h"
#include "job/ledger/living.h"
#include "job/ledger/log.h"
#include "job/node/changes.h"
#include "job/programs/migrator.h"
#include "revive.h"

void hm_claim_undo(const struct hm_config *config, struct hm_job *job)
{
    struct hm_error error = {0};
    if (hm_changes_undo(config, job, &error) == 0)
        return;
    hm_log(HM_LOG_ERROR, "job %u: a setting was not restored: %s", job->job_id, error.text);
    hm_job_warn(job, "a setting was not restored: %s", error.text);
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

static bool is_as_judged(const struct hm_job *job, const struct hm_job *judged)
{
    return job->start_ns == judged->start_ns && job->dead_ns != 0;
}

/* Without the lock: leaves what the job's own epilog knows to whoever ends the job. Returns -1. */
static int leave(const struct hm_config *config, uint32_t job_id, const struct hm_claimant *claimant,
                 const struct hm_error *why)
{
    struct hm_error error = {0};
    hm_log(HM_LOG_ERROR, "job %u: %s", job_id, why->text);
    if (claimant->is_own_epilog && hm_epilog_leave(config, job_id, claimant->exit_status, &error) != 0)
        hm_log(HM_LOG_ERROR, "job %u: its exit status is lost: %s", job_id, error.text);
    return -1;
}

int hm_claim_take(const struct hm_config *config, uint32_t job_id, const struct hm_claimant *claimant,
                  struct hm_job *job, struct hm_found *found)
{
    struct hm_error error = {0};
    int result = -1;
    int lock = hm_ledger_lock(config, &error);
    if (lock < 0)
        return leave(config, job_id, claimant, &error);
    if (hm_ledger_read(config, job_id, job, &error) != 0) {
        result = errno == ENOENT ? 1 : -1;
        /*
         * Nobody can read the entry, and nobody needs it after the job's end. Reap looks for memory that the job may
         * have had.
         */
        found->is_left = errno == EBADMSG && hm_ledger_remove(config, job_id, NULL) == 0;
    } else if (hm_job_has_finisher(job)) {
        result = 1;
        if (claimant->is_own_epilog && !job->has_ended) {
            job->has_ended = true;
            if (claimant->exit_status)
                hm_epilog_note_status(job, *claimant->exit_status);
            result = hm_ledger_write(config, job, &error) == 0 ? 1 : -1;
        }
    } else if (claimant->judged && !is_as_judged(job, claimant->judged)) {
        result = 1;
    } else if (hm_process_identify(getpid(), &job->finisher) != 0) {
        hm_fail(&error, ESRCH, "job %u: this process is not in /proc", job_id);
    } else {
        hm_claim_undo(config, job);
        (void)hm_epilog_take(config, job);
        found->is_again = job->end_ns != 0;
        found->n_steps = job->n_steps;
        note_end(job, claimant->is_own_epilog);
        if (claimant->exit_status) /* it is noted this early for whoever completes this process's work */
            hm_epilog_note_status(job, *claimant->exit_status);
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

/* It holds the lock, as the end of a late step may take the figures of its own migrator at the same time. */
bool hm_claim_take_figures(const struct hm_config *config, struct hm_job *job, struct hm_error *why)
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
    } else if (lock >= 0) {
        hm_fail(why, ESTALE, "the samples may be of the job's next run");
    } else {
        hm_fail(why, errno, "whether the samples are of this run is not known: %s", error.text);
        hm_job_warn(job, "the figures of its migrators were not taken: %s", error.text);
    }
    hm_ledger_unlock(lock);
    free(now);
    if (error.text[0])
        hm_log(HM_LOG_ERROR, "job %u: %s", job->job_id, error.text);
    return is_ours;
}

/*
 * Gives the entry back to its job, a step of which has begun since the claim. The monitor's samples stay with what they
 * are samples of: if the record is written (`is_written`), they go.
 */
static int give_back(const struct hm_config *config, const struct hm_job *job, bool is_written,
                     const struct hm_found *found, struct hm_job *now, struct hm_error *error)
{
    char path[HM_CONFIG_PATH_MAX + 32];
    hm_log(HM_LOG_WARNING, "job %u was taken for dead, and has begun a step since: its entry stays", job->job_id);
    hm_revive(job, is_written, found, now);
    if (is_written)
        (void)unlink(hm_ledger_samples_path(config, job->job_id, path, sizeof(path)));
    return hm_ledger_write(config, now, error);
}

/* Removes the entry, unless it has to stay. Restores what a late step has changed, and what could not be restored
 * before. Returns as hm_claim_let_go. */
static int remove_entry(const struct hm_config *config, struct hm_job *job, bool is_kept, const struct hm_job *now,
                        struct hm_error *error)
{
    job->n_changes = now->n_changes;
    memcpy(job->change, now->change, sizeof(job->change));
    hm_claim_undo(config, job);
    job->finisher = (struct hm_process){0};
    job->has_ended = now->has_ended;
    job->recorded = job->recorded && is_kept;
    if (is_kept || job->n_changes > 0)
        return hm_ledger_write(config, job, error) == 0 ? 1 : -1;
    return hm_ledger_remove(config, job->job_id, error);
}

int hm_claim_let_go(const struct hm_config *config, struct hm_job *job, bool is_kept, const struct hm_found *found)
{
    struct hm_error error = {0};
    int result = -1;
    struct hm_job *now = malloc(sizeof(*now));
    int lock = now ? hm_ledger_lock(config, &error) : hm_fail(&error, ENOMEM, "no memory for the ledger's entry");
    if (lock >= 0 && read_ours(config, job, now)) {
        if (hm_revive_is_due(now))
            result = give_back(config, job, job->recorded && !is_kept, found, now, &error) == 0 ? 1 : -1;
        else
            result = remove_entry(config, job, is_kept, now, &error);
    }
    hm_ledger_unlock(lock);
    free(now);
    if (error.text[0])
        hm_log(HM_LOG_ERROR, "job %u: %s", job->job_id, error.text);
    return result;
}
