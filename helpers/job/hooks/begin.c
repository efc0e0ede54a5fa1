/* SPDX-License-Identifier: Apache-2.0 */
#include "begin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/process.h"
#include "core/apply/policy.h"
#include "core/config/identity.h"
#include "core/tiers/boot.h"
#include "core/tiers/node.h"
#include "core/topology/regions.h"
#include "finish.h"
#include "job/ledger/living.h"
#include "job/ledger/log.h"
#include "job/namespaces/namespaces.h"
#include "job/namespaces/slowram.h"
#include "job/node/company.h"
#include "slurm/cores.h"
#include "slurm/scontrol.h"

int hm_begin_topology(const struct hm_config *config, struct hm_error *error)
{
    struct hm_topology *topology = malloc(sizeof(*topology));
    if (!topology)
        return hm_fail(error, ENOMEM, "no memory for the topology");
    int result = hm_topology_of_node(config, topology, error);
    free(topology);
    return result;
}

enum earlier { EARLIER_UNREADABLE = -1, EARLIER_NONE, EARLIER_KEPT, EARLIER_OF_A_STEP };

/*
 * Looks in the ledger for an entry under the job's number.
 *
 * - EARLIER_KEPT: the prolog of this very run has made it before. It stays.
 * - EARLIER_OF_A_STEP: a step of this run was quicker than this prolog and made it. The prolog completes it.
 * - EARLIER_NONE: there is none, or it was of an earlier run, which is finished here (`has_left`: that run leaves
 *   memory), or nobody can read it (EBADMSG). The caller makes a new one. It names this run. So namespaces of this run
 *   stay, and the job gets no second set; namespaces of earlier runs belong to nobody.
 * - EARLIER_UNREADABLE: it cannot be opened or loaded. It is not replaced, as it may say what has to be undone on the
 *   node.
 */
static enum earlier find_earlier(const struct hm_config *config, const struct hm_begin *begin, struct hm_job *job,
                                 bool *has_left, struct hm_error *error)
{
    int lock = hm_ledger_lock(config, error);
    if (lock < 0)
        return EARLIER_UNREADABLE;
    int number = hm_ledger_read(config, begin->job_id, job, error) == 0 ? 0 : errno;
    hm_ledger_unlock(lock);
    if (number == EBADMSG)
        hm_log(HM_LOG_ERROR, "%s: it is replaced, what it had changed on the node is not known", error->text);
    if (number != 0)
        return number == ENOENT || number == EBADMSG ? EARLIER_NONE : EARLIER_UNREADABLE;
    bool is_of_this_user = job->uid == begin->uid && hm_job_is_living(job);
    /* A step's entry is not compared by `restart`: steps are not always told how often their job was restarted. */
    if (is_of_this_user && !job->is_entered)
        return EARLIER_OF_A_STEP;
    if (is_of_this_user && job->restart == begin->restart)
        return EARLIER_KEPT;
    *has_left = hm_finish_job(config, begin->job_id,
                              "the epilog did not run: the job's end is when its number was used again", NULL) == 1;
    return EARLIER_NONE;
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
    /* With PrologFlags=RunInJob the prolog runs in the job's own cgroup: the monitor must not be put there. */
    if (hm_cgroup_of_self(folder, sizeof(folder)) == 0 && !strstr(folder, "/step_"))
        hm_text_copy(job->home_cgroup, folder, sizeof(job->home_cgroup));
}

/*
 * Enters why the job cannot have what it asked for. For a mode that is only the partition's default this is a warning.
 */
static void refuse(struct hm_job *job, const char *why)
{
    if (!job->request_is_default) {
        hm_text_copy(job->refusal, why, sizeof(job->refusal));
        return;
    }
    hm_job_warn(job, "the partition's default mode is not used: %s", why);
    job->request[0] = '\0';
    job->has_plan = false;
}

static void judge(const struct hm_config *config, const struct hm_request *request, const struct hm_job *job,
                  struct hm_error *error)
{
    struct hm_identity identity;
    struct hm_error unknown = {0}; /* separate, as any text in `error` refuses the job */
    bool is_known = hm_identity_of_uid(job->uid, &identity, &unknown) == 0;
    const struct hm_asker asker = {.identity = is_known ? &identity : NULL,
                                   .unknown = unknown.text,
                                   .user = job->user,
                                   .account = job->account,
                                   .partition = job->partition};
    hm_identity_judge(config, request, &asker, error);
    if (is_known)
        hm_identity_free(&identity);
}

/*
 * Enters the verdict on the request. The tasks read it from the entry and fail; a prolog that fails would drain the
 * node.
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
    if (config_error[0])
        hm_fail(&error, EINVAL, "%s", config_error);
    else if (hm_request_parse(text, &request, &error) == 0)
        judge(config, &request, job, &error);
    if (error.text[0])
        refuse(job, error.text);
    else
        job->plan.request = request;
    job->recorded = job->refusal[0] || (job->request[0] && hm_request_wants(&request, HM_WANTS_ANYTHING));
}

/*
 * The CPUs of the sockets that the job's cores are on. Slurm does not tell prologs the cores, so scontrol is asked.
 * Where it does not know them the result is 0 and `sockets_cpus` stays empty: the plan refuses that. Cores that do not
 * fit this node's topology are an error (-1).
 */
static int find_sockets_cpus(const struct hm_job *job, const struct hm_topology *topology, struct hm_set *sockets_cpus,
                             struct hm_error *error)
{
    struct hm_set cpus;
    struct hm_numbering numbering;
    struct hm_error why = {0};
    if (hm_scontrol_cpus(job->job_id, job->node, &cpus, &why) != 0 ||
        hm_scontrol_numbering(job->node, &numbering, &why) != 0) {
        hm_log(HM_LOG_WARNING, "job %u: its cores are not known: %s", job->job_id, why.text);
        return 0;
    }
    if (hm_cores_spread(&cpus, &numbering, hm_cores_siblings(), topology, sockets_cpus, &why) == 0)
        return 0;
    return hm_fail(error, ENODEV, "--hybrid-mem=%.48s: the sockets of the job's cores are not known: %s", job->request,
                   why.text);
}

/*
 * Plans the job's file systems. `fsdax` is the only mode whose plan the prolog makes; the others are planned by the
 * step.
 */
static int plan_fsdax(const struct hm_config *config, struct hm_job *job, struct hm_error *error)
{
    const struct hm_request request = job->plan.request;
    struct hm_abilities abilities;
    int result = -1;
    struct hm_tiers *tiers = malloc(sizeof(*tiers));
    struct hm_where *where = calloc(1, sizeof(*where));
    if (!tiers || !where) {
        hm_fail(error, ENOMEM, "no memory for the plan");
    } else if (hm_nodetiers_read(config, tiers, error) == 0 && hm_abilities_read(tiers, &abilities, error) == 0) {
        hm_regions_read(HM_REGIONS_FOLDER, &tiers->topology, &abilities.regions);
        if (request.socket == HM_SOCKET_ALL || find_sockets_cpus(job, &tiers->topology, &where->cpus, error) == 0)
            result = hm_plan_resolve(&request, tiers, config, &abilities, where, &job->plan, error);
    }
    free(where);
    free(tiers);
    return result;
}

static int enter(const struct hm_config *config, struct hm_job *job, struct hm_error *error)
{
    struct hm_error why = {0};
    int lock = hm_ledger_lock(config, error);
    if (lock >= 0 && hm_company_note(config, job, &why) != 0)
        hm_log(HM_LOG_ERROR, "job %u: %s", job->job_id, why.text);
    int result = lock < 0 ? -1 : hm_ledger_write(config, job, error);
    hm_ledger_unlock(lock);
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
        if (earlier == EARLIER_NONE)
            hm_job_init(job, begin->job_id);
        fill(config, begin, job);
        decide(config, config_error, begin, job);
        job->recorded = job->recorded || config->record == HM_RECORD_ALL;
        result = enter(config, job, error);
    }
    free(job);
    return result;
}

/*
 * Writes the entry again, unless the job has ended since: a prolog that waited long may run after its own epilog. Steps
 * may have noted other jobs on the node meanwhile (`had_company`); that is kept.
 */
static int enter_again(const struct hm_config *config, struct hm_job *job, struct hm_error *error)
{
    int result = -1;
    struct hm_job *now = malloc(sizeof(*now));
    int lock = now ? hm_ledger_lock(config, error) : hm_fail(error, ENOMEM, "no memory for the ledger's entry");
    if (lock >= 0 && hm_ledger_read(config, job->job_id, now, error) == 0 && hm_job_check_begun(now, job, error) == 0) {
        job->had_company = job->had_company || now->had_company;
        result = hm_ledger_write(config, job, error);
    }
    hm_ledger_unlock(lock);
    free(now);
    return result;
}

/*
 * Plans and makes the job's file systems. The entry says so before they are made: after a crash at any point, reap
 * finds them. Why they cannot be had goes into the entry, and the tasks fail with it.
 */
static int provide(const struct hm_config *config, struct hm_job *job, struct hm_error *error)
{
    struct hm_error why = {0};
    job->has_plan = plan_fsdax(config, job, &why) == 0;
    job->namespaces.is_begun = job->has_plan;
    job->namespaces.restart = job->restart;
    if (enter_again(config, job, error) != 0)
        return -1;
    if (job->has_plan && hm_namespaces_make(config, job, &why) != 0) {
        char text[HM_ERROR_TEXT];
        hm_text_copy(text, why.text, sizeof(text));
        hm_fail(&why, EIO, "--hybrid-mem=%.48s: %s", job->request, text);
    }
    if (why.text[0])
        refuse(job, why.text);
    if (enter_again(config, job, error) == 0)
        return 0;
    if (hm_namespaces_remove(config, job, true, &why) != 0)
        hm_log(HM_LOG_ERROR, "job %u: its DAX file systems were not removed: %s", job->job_id, why.text);
    return -1;
}

/* Does the request want slow memory that the configuration lets us bring online? */
static bool wants_slow_memory(const struct hm_config *config, const struct hm_request *request)
{
    return config->ram != HM_SLOW_RAM_NONE && hm_request_wants(request, HM_WANTS_SLOW_RAM);
}

/*
 * Brings slow memory online for the job's steps. Where that fails, the steps use the memory that there is, and the
 * entry gets a warning. The entry is read again for that, as steps may have changed it during the wait.
 */
static int provide_slow_memory(const struct hm_config *config, const struct hm_job *job, struct hm_error *error)
{
    int result = -1;
    struct hm_error why = {0};
    if (hm_slowram_online(config, &why) == 0)
        return 0;
    struct hm_job *now = malloc(sizeof(*now));
    int lock = now ? hm_ledger_lock(config, error) : hm_fail(error, ENOMEM, "no memory for the ledger's entry");
    if (lock >= 0 && hm_ledger_read(config, job->job_id, now, error) == 0 && hm_job_check_begun(now, job, error) == 0) {
        hm_job_warn(now, "slow memory was not brought online: %s", why.text);
        result = hm_ledger_write(config, now, error);
    }
    hm_ledger_unlock(lock);
    free(now);
    return result;
}

int hm_begin_provide(const struct hm_config *config, uint32_t job_id, struct hm_error *error)
{
    int result = -1;
    struct hm_job *job = malloc(sizeof(*job));
    int lock = job ? hm_ledger_lock(config, error) : hm_fail(error, ENOMEM, "no memory for the ledger's entry");
    if (lock >= 0)
        result = hm_ledger_read(config, job_id, job, error);
    hm_ledger_unlock(lock);
    bool is_asked = result == 0 && job->request[0] && !job->refusal[0];
    bool wants_namespaces = is_asked && hm_request_wants(&job->plan.request, HM_WANTS_NAMESPACES);
    if (wants_namespaces && !job->namespaces.is_begun && job->namespaces.n == 0)
        result = provide(config, job, error);
    else if (is_asked && wants_slow_memory(config, &job->plan.request))
        result = provide_slow_memory(config, job, error);
    free(job);
    return result;
}
