/* SPDX-License-Identifier: Apache-2.0 */
#include "begin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/process.h"
#include "core/config/lookup.h"
#include "core/tiers/boot.h"
#include "finish.h"
#include "job/ledger/epilog.h"
#include "job/ledger/jobcgroup.h"
#include "job/ledger/living.h"
#include "job/ledger/log.h"
#include "job/node/company.h"
#include "slurm/squeue.h"
#include "strangers.h"

#define FINISHER_MS 10000 /* in which a reap has stopped the earlier job's helpers and read what they left */

int hm_begin_topology(const struct hm_config *config, struct hm_error *error)
{
    struct hm_topology *topology = malloc(sizeof(*topology));
    if (!topology)
        return hm_fail(error, ENOMEM, "no memory for the topology");
    int result = hm_topology_of_node(config, topology, error);
    free(topology);
    return result;
}

/*
 * The entry that the ledger has under the job's number.
 *
 * - EARLIER_KEPT: an earlier prolog of this run made the entry. It stays, and with it the namespaces of this run, so
 *   that the job gets no second set.
 * - EARLIER_OF_OTHERS: the entry is of an earlier run, of another user's job or of a dead job. That job is to be
 *   finished. One that a step made, as its prolog could not, is of an earlier run: no step starts before its prolog.
 * - EARLIER_NONE: there is no entry, or its content is not valid (EBADMSG).
 * - EARLIER_UNREADABLE: the ledger cannot be locked, or the entry cannot be opened or loaded. The entry is not
 *   replaced, as it may say what has to be undone on the node.
 */
enum earlier { EARLIER_UNREADABLE = -1, EARLIER_NONE, EARLIER_KEPT, EARLIER_OF_OTHERS };

/*
 * Reads the entry under the job's number into `job`. `life` is what a look at the job's cgroup found before. The caller
 * holds the lock.
 */
static enum earlier read_earlier(const struct hm_config *config, const struct hm_begin *begin,
                                 const struct hm_life *life, struct hm_job *job, struct hm_error *error)
{
    if (hm_ledger_read(config, begin->job_id, job, error) != 0)
        return errno == ENOENT || errno == EBADMSG ? EARLIER_NONE : EARLIER_UNREADABLE;
    bool is_of_this_run = job->uid == begin->uid && job->is_entered && job->restart == begin->restart;
    return is_of_this_run && hm_job_is_living(job, life) ? EARLIER_KEPT : EARLIER_OF_OTHERS;
}

/*
 * Looks for an entry under the job's number. If it is EARLIER_OF_OTHERS, finishes that job, and sets `has_left` if that
 * job leaves memory for a later reap. Where another process finishes it already, it is given some time for what it
 * still needs of the entry. One that was killed is not waited for, as the kernel may hold it for ever.
 */
static enum earlier find_earlier(const struct hm_config *config, const struct hm_begin *begin, struct hm_job *job,
                                 bool *has_left, struct hm_error *error)
{
    struct hm_life life;
    hm_life_read(config, begin->job_id, job, &life);
    int lock = hm_ledger_lock(config, error);
    enum earlier earlier = lock < 0 ? EARLIER_UNREADABLE : read_earlier(config, begin, &life, job, error);
    bool is_invalid = earlier == EARLIER_NONE && errno == EBADMSG;
    hm_ledger_unlock(lock);
    if (is_invalid)
        hm_log(HM_LOG_ERROR, "%s: it is replaced; what the job had changed on the node is not known", error->text);
    if (earlier == EARLIER_OF_OTHERS && hm_job_has_finisher(job))
        (void)hm_process_wait(&job->finisher, FINISHER_MS);
    if (earlier == EARLIER_OF_OTHERS)
        *has_left =
            hm_finish_job(config, begin->job_id,
                          "the epilog did not run: the end in this record is when the job's number was used again",
                          NULL) == 1;
    return earlier;
}

static void copy_name(char *to, const char *from, size_t size)
{
    if (from)
        hm_text_copy(to, from, size);
}

static void fill(const struct hm_config *config, const struct hm_begin *begin, struct hm_job *job)
{
    char folder[HM_JOB_CGROUP];
    job->is_entered = true;
    job->restart = begin->restart;
    job->het_job_id = begin->het_job_id;
    job->uid = begin->uid;
    job->gid = begin->gid;
    job->end_s = begin->end_s;
    copy_name(job->user, begin->user, sizeof(job->user));
    copy_name(job->account, begin->account, sizeof(job->account));
    copy_name(job->partition, begin->partition, sizeof(job->partition));
    copy_name(job->cluster, begin->cluster, sizeof(job->cluster));
    copy_name(job->node, begin->node, sizeof(job->node));
    if (config->cluster[0])
        hm_text_copy(job->cluster, config->cluster, sizeof(job->cluster));
    (void)hm_process_identify(getpid(), &job->prolog); /* without it, a reap may take a waiting job for dead */
    /* The monitor must not be put into the job's own cgroup. */
    if (hm_cgroup_of_self(folder, sizeof(folder)) == 0 && !strstr(folder, "/step_"))
        hm_text_copy(job->home_cgroup, folder, sizeof(job->home_cgroup));
}

void hm_begin_refuse(struct hm_job *job, const char *why)
{
    if (!job->request_is_default) {
        hm_text_copy(job->refusal, why, sizeof(job->refusal));
        return;
    }
    hm_job_warn(job, "the partition's default mode is not used: %s", why);
    job->request[0] = '\0';
    job->has_plan = false;
}

_Static_assert(sizeof(((struct hm_job *)NULL)->user) == HM_IDENTITY_NAME,
               "hm_identity_judge takes a name that fills this size for a cut one");

static void judge(const struct hm_config *config, const struct hm_request *request, const struct hm_job *job,
                  struct hm_error *error)
{
    struct hm_identity identity;
    struct hm_error unknown = {0}, doubt = {0}; /* separate, as any text in `error` refuses the job */
    const int64_t since_ms = hm_clock_ms(CLOCK_MONOTONIC);
    bool is_known = hm_identity_is_needed(config) && hm_lookup_uid(job->uid, &identity, &unknown) == 0;
    if (is_known)
        hm_lookup_doubts(config, request, &identity, since_ms, &doubt);
    const struct hm_asker asker = {.identity = is_known ? &identity : NULL,
                                   .unknown = unknown.text,
                                   .doubt = doubt.text,
                                   .user = job->user,
                                   .account = job->account,
                                   .partition = job->partition};
    hm_identity_judge(config, request, &asker, error);
    if (is_known)
        hm_identity_free(&identity);
}

/*
 * Notes the job's weight for the split of the fast tier. slurmd does not tell a job's QOS, so slurmctld is asked: only
 * where a QOS has a weight, and for a job that asks for a migrator and gets it. Do not hold the lock.
 */
static void weigh(const struct hm_config *config, struct hm_job *job)
{
    char qos[64] = "";
    struct hm_error why = {0};
    if (hm_config_has_qos(config) && hm_request_wants(&job->plan.request, HM_WANTS_MIGRATOR) &&
        hm_squeue_qos(job->job_id, qos, sizeof(qos), &why) != 0)
        hm_job_warn(job, "its share of the fast tier is not that of its QOS: %s", why.text);
    job->fair_weight = hm_config_weight(config, qos, job->account, job->partition);
}

/*
 * Puts the verdict on the request into the entry. If it is a refusal, the tasks read it there and fail: a prolog that
 * failed itself would drain the node.
 */
static void decide(const struct hm_config *config, const char *config_error, const struct hm_begin *begin,
                   struct hm_job *job)
{
    struct hm_error error = {0};
    struct hm_request request = {0};
    const char *by_default = config_error[0] ? NULL : hm_config_default_mode(config, job->partition);
    const char *text = begin->request ? begin->request : by_default;
    if (!text)
        return;
    job->request_is_default = !begin->request;
    hm_text_copy(job->request, text, sizeof(job->request));
    if (hm_request_parse(text, &request, &error) == 0 && request.mode != HM_MODE_OFF) {
        if (config_error[0])
            hm_fail(&error, EINVAL, "%s", config_error);
        else
            judge(config, &request, job, &error);
    }
    if (error.text[0])
        hm_begin_refuse(job, error.text);
    else
        job->plan.request = request;
    job->recorded = job->refusal[0] || (job->request[0] && hm_request_wants(&request, HM_WANTS_ANYTHING));
}

/*
 * Makes `job` the new entry `own`, in place of the entry of a job that could not be finished, or that another process
 * still finishes: its record is that process's. What is still changed on the node for that job is undone at the end of
 * this one.
 */
static void replace(const struct hm_job *own, struct hm_job *job)
{
    const uint32_t n_changes = job->n_changes;
    struct hm_change change[HM_JOB_CHANGES];
    if (job->recorded && !hm_job_has_finisher(job))
        hm_log(HM_LOG_ERROR, "job %u: the record of an earlier job of this number is lost", job->job_id);
    memcpy(change, job->change, sizeof(change));
    *job = *own;
    job->n_changes = n_changes;
    memcpy(job->change, change, sizeof(change));
}

/*
 * Enters the job as `own`. Reads the entry again, with the lock: whoever ends an earlier job, or another prolog of this
 * run, may have changed it since the first look, as looking up the user may have taken long.
 */
static int enter(const struct hm_config *config, const struct hm_begin *begin, const struct hm_job *own,
                 struct hm_job *job, struct hm_error *error)
{
    struct hm_error why = {0};
    struct hm_life life;
    hm_life_read(config, begin->job_id, job, &life);
    int result, lock = hm_ledger_lock(config, error);
    enum earlier earlier = lock < 0 ? EARLIER_UNREADABLE : read_earlier(config, begin, &life, job, error);
    result = earlier == EARLIER_KEPT ? 0 : -1;
    if (earlier == EARLIER_UNREADABLE || earlier == EARLIER_KEPT)
        goto done;
    if (earlier == EARLIER_NONE)
        *job = *own;
    else
        replace(own, job);
    hm_epilog_forget(config, begin->job_id);
    if (hm_company_note(config, job, &why) != 0)
        hm_log(HM_LOG_ERROR, "job %u: %s", job->job_id, why.text);
    result = hm_ledger_write(config, job, error);
done:
    hm_ledger_unlock(lock);
    return result;
}

/* Builds the job's new entry, with the verdict on its request, and enters the job with it. */
static int decide_and_enter(const struct hm_config *config, const char *config_error, const struct hm_begin *begin,
                            struct hm_job *job, struct hm_error *error)
{
    struct hm_job *own = malloc(sizeof(*own));
    if (!own)
        return hm_fail(error, ENOMEM, "no memory for the ledger's entry of job %u", begin->job_id);
    hm_job_init(own, begin->job_id);
    fill(config, begin, own);
    decide(config, config_error, begin, own);
    weigh(config, own);
    own->recorded = own->recorded || config->record == HM_RECORD_ALL;
    own->has_strangers = hm_strangers_are_there(config, HM_CGROUPS, begin->job_id);
    int result = enter(config, begin, own, job, error);
    free(own);
    return result;
}

int hm_begin_job(const struct hm_config *config, const char *config_error, const struct hm_begin *begin, bool *has_left,
                 struct hm_error *error)
{
    int result = -1;
    *has_left = false;
    struct hm_job *job = malloc(sizeof(*job));
    if (!job)
        return hm_fail(error, ENOMEM, "no memory for the ledger's entry of job %u", begin->job_id);
    enum earlier earlier = find_earlier(config, begin, job, has_left, error);
    if (earlier == EARLIER_KEPT) {
        hm_log(HM_LOG_INFO, "job %u is in the ledger already, and lives", begin->job_id);
        result = 0;
    } else if (earlier != EARLIER_UNREADABLE) {
        result = decide_and_enter(config, config_error, begin, job, error);
    }
    free(job);
    return result;
}
