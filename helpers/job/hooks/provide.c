/* SPDX-License-Identifier: Apache-2.0 */
#include "provide.h"

#include <errno.h>
#include <stdlib.h>

#include "base/files.h"
#include "begin.h"
#include "core/apply/policy.h"
#include "core/tiers/node.h"
#include "core/topology/regions.h"
#include "job/ledger/living.h"
#include "job/ledger/log.h"
#include "job/namespaces/namespaces.h"
#include "job/namespaces/slowram.h"
#include "slurm/cores.h"
#include "slurm/scontrol.h"

/*
 * The CPUs of the sockets that the job's cores are on. Slurm does not tell prologs the cores, so scontrol is asked.
 * Where scontrol does not know them the result is 0 and `sockets_cpus` stays empty: the plan refuses that. Cores that
 * do not fit this node's topology are an error (-1).
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

/* Puts what this file finds out and makes into the entry as it is now, and that into `job`. */
static void take_over(struct hm_job *job, struct hm_job *now)
{
    now->has_plan = job->has_plan;
    now->plan = job->plan;
    now->namespaces = job->namespaces;
    hm_text_copy(now->request, job->request, sizeof(now->request));
    hm_text_copy(now->refusal, job->refusal, sizeof(now->refusal));
    for (uint32_t i = 0; i < job->n_warnings; i++)
        hm_job_warn(now, "%s", job->warning[i]);
    *job = *now;
}

/*
 * Writes the entry again, unless the job has ended since: a prolog that waited long may run after its own epilog. What
 * others have noted in the entry meanwhile is kept: that this job is not alone on the node, say.
 */
static int enter_again(const struct hm_config *config, struct hm_job *job, struct hm_error *error)
{
    int result = -1;
    struct hm_job *now = malloc(sizeof(*now));
    int lock = now ? hm_ledger_lock(config, error) : hm_fail(error, ENOMEM, "no memory for the ledger's entry");
    if (lock >= 0 && hm_ledger_read(config, job->job_id, now, error) == 0 && hm_job_check_begun(now, job, error) == 0) {
        take_over(job, now);
        result = hm_ledger_write(config, job, error);
    }
    hm_ledger_unlock(lock);
    free(now);
    return result;
}

/*
 * Plans and makes the job's file systems. The entry says so before they are made: after a crash at any point, reap
 * finds them. If they cannot be made, the reason goes into the entry (hm_begin_refuse).
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
        hm_begin_refuse(job, why.text);
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
 * entry gets a warning. The entry is read again before it gets one, as it may have changed during the wait.
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

int hm_provide_memory(const struct hm_config *config, uint32_t job_id, struct hm_error *error)
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
