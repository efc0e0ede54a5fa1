/* SPDX-License-Identifier: Apache-2.0 */
#include "reap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/plural.h"
#include "claim.h"
#include "finish.h"
#include "idle.h"
#include "job/ledger/epilog.h"
#include "job/ledger/living.h"
#include "job/ledger/log.h"
#include "job/ledger/place.h"
#include "job/ledger/unread.h"
#include "job/namespaces/namespaces.h"
#include "job/node/fair.h"
#include "job/node/mongroup.h"
#include "job/store/store.h"
#include "orphans.h"
#include "slurm/scontrol.h"

#define SECOND_NS UINT64_C(1000000000)
#define UNSEEN_S 600 /* least time that every job gets for starting its first step: a site's prolog may take long */

/*
 * Is the grace of a dead job over, in which its epilog may still come? Where somebody has begun to end it, and was cut
 * short, as by a folder of records that hangs, nobody else will come. The grace is measured by CLOCK_BOOTTIME, which
 * nobody can set: CLOCK_REALTIME may be set back.
 */
static bool is_over(const struct hm_job *job, unsigned grace_s)
{
    return hm_job_is_over(job) || hm_clock_ns(CLOCK_BOOTTIME) - job->dead_boot_ns >= grace_s * SECOND_NS;
}

/*
 * Removes an entry that is torn, or written by a version of hybridmem that this one does not know, once its job is
 * dead. While the job may live, its entry stays, and so do its namespaces (namespaces/jobs.h). The job's own epilog
 * removes such an entry, too (finish.h). Finding out whether the job lives takes long and does not hold the lock: so
 * the entry is read once more before it is removed.
 */
static void reap_unread(const struct hm_config *config, uint32_t job_id, unsigned grace_s, struct hm_job *job,
                        const char *why)
{
    struct hm_error error = {0};
    if (hm_unread_is_living(config, HM_CGROUPS, job_id, grace_s)) {
        hm_log(HM_LOG_WARNING, "%s: it stays while the job may live", why);
        return;
    }
    int lock = hm_ledger_lock(config, &error);
    if (lock >= 0 && hm_ledger_read(config, job_id, job, &error) != 0 && errno == EBADMSG) {
        hm_log(HM_LOG_ERROR, "%s: it is removed; what its job had changed on the node is not known", error.text);
        hm_ledger_remove(config, job_id, NULL);
    }
    hm_ledger_unlock(lock);
}

/* Notes when the job was found dead, unless an earlier reap has noted it. */
static void note_death(struct hm_job *job)
{
    if (job->dead_ns == 0)
        job->dead_ns = (int64_t)hm_clock_ns(CLOCK_REALTIME);
    if (job->dead_boot_ns == 0) /* an earlier version notes dead_ns alone */
        job->dead_boot_ns = hm_clock_ns(CLOCK_BOOTTIME);
}

/* Takes back a note of death, as the next death is to have its own grace. A job that was ended stays dead. */
static void note_life(const struct hm_config *config, struct hm_job *job)
{
    struct hm_error error = {0};
    if (!job->cgroup[0] || job->dead_ns == 0 || job->end_ns != 0)
        return;
    job->dead_ns = 0;
    job->dead_boot_ns = 0;
    if (hm_ledger_write(config, job, &error) != 0)
        hm_log(HM_LOG_ERROR, "%s", error.text);
}

/*
 * Checks whether a job without a cgroup in its entry lives: its epilog may have been lost, and nothing else tells its
 * end. The check takes long and does not hold the lock, so the entry is read once more. Returns true where the job's
 * death was noted now.
 */
static bool reap_unseen(const struct hm_config *config, uint32_t job_id, struct hm_job *job)
{
    struct hm_error error = {0};
    const int64_t start_ns = job->start_ns;
    bool is_dead = false;
    unsigned patience_s = config->reap_grace_s > UNSEEN_S ? config->reap_grace_s : UNSEEN_S;
    if (hm_process_is_running(&job->prolog) || hm_unread_is_living(config, HM_CGROUPS, job_id, patience_s))
        return false;
    int lock = hm_ledger_lock(config, &error);
    if (lock >= 0 && hm_ledger_read(config, job_id, job, &error) == 0 && job->start_ns == start_ns && !job->cgroup[0] &&
        job->dead_ns == 0) {
        hm_log(HM_LOG_WARNING, "job %u has no process on this node: it is taken for dead", job_id);
        note_death(job);
        is_dead = hm_ledger_write(config, job, &error) == 0;
    }
    hm_ledger_unlock(lock);
    if (error.text[0])
        hm_log(HM_LOG_ERROR, "%s", error.text);
    return is_dead;
}

/*
 * Is there nothing to do for the job, by what was read without the lock? Each prolog and epilog looks at all jobs, and
 * nearly all of them live: so most looks take no lock. What changes since is for the next reap.
 */
static bool is_well(const struct hm_config *config, uint32_t job_id, const struct hm_job *job,
                    const struct hm_life *life)
{
    return life->start_ns != 0 && job->cgroup[0] && job->dead_ns == 0 && hm_job_is_living(job, life) &&
           !hm_epilog_has_come(config, job_id);
}

/*
 * Looks at one job, before it takes the lock. A living job is left alone. Returns true where the job is dead and is to
 * be finished now.
 */
static bool reap_entry(const struct hm_config *config, uint32_t job_id, unsigned grace_s, struct hm_job *job)
{
    struct hm_error error = {0};
    struct hm_life life;
    bool is_dead = false, is_unread = false, is_unseen = false;
    hm_life_read(config, job_id, job, &life);
    if (is_well(config, job_id, job, &life))
        return false;
    int lock = hm_ledger_lock(config, &error);
    if (lock < 0) {
        hm_log(HM_LOG_ERROR, "job %u: %s", job_id, error.text);
        return false;
    }
    if (hm_ledger_read(config, job_id, job, &error) != 0) {
        is_unread = errno == EBADMSG;
        if (!is_unread && errno != ENOENT)
            hm_log(HM_LOG_ERROR, "%s", error.text);
    } else if (hm_epilog_take(config, job) || !hm_job_is_living(job, &life)) {
        is_dead = true;
        note_death(job);
        hm_claim_undo(config, job);
        if (hm_ledger_write(config, job, &error) != 0)
            hm_log(HM_LOG_ERROR, "%s", error.text);
    } else {
        is_unseen = !job->cgroup[0];
        note_life(config, job);
    }
    hm_ledger_unlock(lock);
    if (is_unread)
        reap_unread(config, job_id, grace_s, job, error.text);
    if (!is_dead && !(is_unseen && reap_unseen(config, job_id, job)))
        return false;
    hm_finish_stop_helpers(job, HM_FINISH_ORPHAN_PATIENCE_MS);
    return is_over(job, grace_s);
}

/* Finishes the dead jobs of the ledger. Returns true where memory of one of them may be left for a later reap. */
static bool reap_entries(const struct hm_config *config, unsigned grace_s)
{
    struct hm_error error = {0};
    bool is_left = false;
    struct hm_idle idle = {0};
    uint32_t *ids = NULL;
    struct hm_job *job = malloc(sizeof(*job));
    int lock = job ? hm_ledger_lock(config, &error) : hm_fail(&error, ENOMEM, "no memory for the ledger's entry");
    int count = lock < 0 ? -1 : hm_ledger_list(config, &ids, &error);
    hm_ledger_unlock(lock);
    if (count < 0)
        hm_log(HM_LOG_ERROR, "reap: %s", error.text);
    for (int i = 0; i < count; i++)
        if (reap_entry(config, ids[i], grace_s, job) && !hm_idle_is_job(config, job, grace_s, &idle) &&
            hm_finish_dead(config, job, "the epilog did not run: the job's end is when it was found dead") == 1)
            is_left = true;
    free(ids);
    free(job);
    return is_left;
}

/* Moves the ledger if it has no entry. An entry may be of a job that an earlier version began: that job's slurmstepds
 * look for the entry in the old place. */
static int move_empty(const struct hm_config *config, const struct hm_place_move *move, struct hm_error *error)
{
    uint32_t *ids = NULL;
    int lock = hm_ledger_lock(config, error);
    int count = lock < 0 ? -1 : hm_ledger_list(config, &ids, error);
    int result = count == 0 ? hm_place_move(move, error) : count < 0 ? -1 : 0;
    hm_ledger_unlock(lock);
    free(ids);
    return result;
}

/* Moves the ledger from the place that it had in earlier versions, once it has no entry. */
static void move_ledger(const struct hm_config *config)
{
    struct hm_error error = {0};
    struct hm_place_move move;
    if (!hm_place_is_old(config))
        return;
    int result = hm_place_move_begin(config, &move, &error);
    if (result == 0) {
        result = move_empty(config, &move, &error);
        hm_place_move_end(&move);
    }
    if (result != 0)
        hm_log(HM_LOG_WARNING, "%s", error.text);
}

/*
 * Logs that namespaces of no job could not be removed. If their memory could not be taken back (`is_left`), the node is
 * drained, as at a job's own end (finish.c): that end may have crashed, or its drain may have failed, and the memory
 * must not be given to anybody. A wipe that only takes longer, or a failure to look for namespaces, does not drain the
 * node.
 */
static void tell_failure(const struct hm_reap *reap, bool is_left, const struct hm_error *error)
{
    struct hm_error why = {0};
    char reason[HM_ERROR_TEXT];
    hm_log(HM_LOG_ERROR, "namespaces that belong to no job could not be removed: %s", error->text);
    if (!is_left || !reap->node)
        return;
    snprintf(reason, sizeof(reason),
             "hybridmem: persistent memory that a past job left could not be taken back: %.160s", error->text);
    if (hm_scontrol_drain(reap->node, reason, &why) != 0)
        hm_log(HM_LOG_ERROR, "node %s is not drained: %s", reap->node, why.text);
}

bool hm_reap(const struct hm_config *config, const struct hm_reap *reap, struct hm_error *left)
{
    struct hm_namespaces_reap namespaces = reap->namespaces;
    if (reap_entries(config, reap->grace_s))
        namespaces.has_left = true;
    hm_orphans_reap(config);
    hm_fair_reap(config);
    move_ledger(config);
    if (reap->is_config_known) {
        hm_mongroup_shut(config);
        hm_mongroup_reap(config);
    }
    int result = reap->is_config_known ? hm_namespaces_reap(config, &namespaces, left) : 0;
    if (result < 0)
        tell_failure(reap, errno == ENOTRECOVERABLE, left);
    return result == 1;
}

static void tell(const char *line)
{
    hm_log(HM_LOG_ERROR, "%s", line);
}

bool hm_reap_records(const struct hm_config *config)
{
    struct hm_error error = {0};
    int appended = hm_store_retry(config, tell, &error);
    if (appended > 0)
        hm_log(HM_LOG_INFO, "%d %s written", appended,
               hm_plural((uint64_t)appended, "record that was kept back is", "records that were kept back are"));
    if (error.text[0])
        hm_log(HM_LOG_WARNING, "records are still kept back: %s", error.text);
    return appended > 0;
}
