/* SPDX-License-Identifier: Apache-2.0 */
#include "begin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "finish.h"
#include "identity.h"
#include "living.h"
#include "log.h"
#include "topology.h"

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
 * Is there an entry of this very job, of a prolog that ran before? It is kept (1). Another's, of an earlier run under
 * the same number, is finished; there is none then (0), as where it is torn or of another version. One that cannot be
 * read for any other reason is not replaced: it may say what has to be undone on the node (-1).
 */
static int keep_earlier_entry(const struct hm_config *config, const struct hm_begin *begin, struct hm_job *job,
                              struct hm_error *error)
{
    int lock = hm_ledger_lock(config, error);
    if (lock < 0)
        return -1;
    int number = hm_ledger_read(config, begin->job_id, job, error) == 0 ? 0 : errno;
    hm_ledger_unlock(lock);
    if (number == EBADMSG)
        hm_log(HM_LOG_ERROR, "%s: it is replaced, what it had changed on the node is not known", error->text);
    if (number != 0)
        return number == ENOENT || number == EBADMSG ? 0 : -1;
    if (job->restart == begin->restart && job->uid == begin->uid && hm_job_is_living(job))
        return 1;
    hm_finish_job(config, begin->job_id, "the epilog did not run: the job's end is when its number was used again",
                  NULL);
    return 0;
}

static void copy_name(char *to, const char *from, size_t size)
{
    if (from)
        hm_text_copy(to, from, size);
}

static void fill(const struct hm_config *config, const struct hm_begin *begin, struct hm_job *job)
{
    char folder[HM_JOB_CGROUP];
    hm_job_init(job, begin->job_id);
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
    /* With PrologFlags=RunInJob this runs in the job, which is no place for the monitor. */
    if (hm_cgroup_of_self(folder, sizeof(folder)) == 0 && !strstr(folder, "/step_"))
        hm_text_copy(job->home_cgroup, folder, sizeof(job->home_cgroup));
}

/* The verdict: the tasks read it from the entry, for a prolog that fails would drain the node. */
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
        hm_identity_judge(config, &request, job->uid, job->user, job->account, job->partition, &error);
    if (error.text[0] && job->request_is_default) {
        hm_job_warn(job, "the partition's default mode is not used: %s", error.text);
        job->request[0] = '\0';
        return;
    }
    hm_text_copy(job->refusal, error.text, sizeof(job->refusal));
    job->recorded = error.text[0] || request.mode != HM_MODE_OFF;
}

int hm_begin_job(const struct hm_config *config, const char *config_error, const struct hm_begin *begin,
                 struct hm_error *error)
{
    int lock = -1, result = -1;
    struct hm_job *job = malloc(sizeof(*job));
    if (!job)
        return hm_fail(error, ENOMEM, "no memory for the ledger's entry of job %u", begin->job_id);
    int is_kept = keep_earlier_entry(config, begin, job, error);
    if (is_kept > 0)
        hm_log(HM_LOG_INFO, "job %u is in the ledger already, and lives", begin->job_id);
    if (is_kept != 0) {
        result = is_kept > 0 ? 0 : -1;
        goto done;
    }
    fill(config, begin, job);
    decide(config, config_error, begin, job);
    job->recorded = job->recorded || config->record == HM_RECORD_ALL;
    lock = hm_ledger_lock(config, error);
    if (lock >= 0)
        result = hm_ledger_write(config, job, error);
done:
    hm_ledger_unlock(lock);
    free(job);
    return result;
}
