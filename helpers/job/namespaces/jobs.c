/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/ledger/living.h"

#define WORDS 40 /* room for the longest entry, "4294967295.4294967295,u4294967295," */

char *hm_namespacejobs_list(const struct hm_config *config, struct hm_error *error)
{
    uint32_t *ids = NULL;
    size_t used = 0;
    char *list = NULL;
    struct hm_job *job = malloc(sizeof(*job));
    int held = job ? hm_ledger_lock(config, error) : hm_fail(error, ENOMEM, "no memory for the ledger's entry");
    int count = held < 0 ? -1 : hm_ledger_list(config, &ids, error);
    if (count >= 0)
        list = calloc((size_t)count + 1, WORDS);
    if (count >= 0 && !list)
        hm_fail(error, ENOMEM, "no memory for the list of %d jobs", count);
    int number = errno; /* the errno of what failed, if there is no list */
    for (int i = 0; list && i < count; i++) {
        used += (size_t)snprintf(list + used, WORDS, "%s%u.", used > 0 ? "," : "", ids[i]);
        /*
         * An entry that cannot be read does not say which run of the job this is, or whether the job has kept
         * namespaces. The job may still live, so its namespaces of every run stay, and those that any user keeps.
         */
        if (hm_ledger_read(config, ids[i], job, NULL) != 0) {
            used += (size_t)snprintf(list + used, WORDS, "*,u*");
            continue;
        }
        used += (size_t)snprintf(list + used, WORDS, "%u", job->namespaces.restart);
        if (job->namespaces.is_kept)
            used += (size_t)snprintf(list + used, WORDS, ",u%u", job->uid);
    }
    hm_ledger_unlock(held);
    free(ids);
    free(job);
    errno = number;
    return list;
}

/*
 * Does the other job have the namespaces that the user of `job` keeps? Its entry may outlive it where its epilog did
 * not run, and then it is over when a reap has noted its end.
 */
static bool is_in_the_way(const struct hm_job *other, const struct hm_job *job)
{
    return other->job_id != job->job_id && other->namespaces.is_kept && other->uid == job->uid &&
           strcmp(other->cluster, job->cluster) == 0 && !hm_job_is_over(other);
}

static int fail_unread(uint32_t job_id, struct hm_error *error)
{
    return hm_fail(error, EBUSY,
                   "job %u, whose state cannot be read, may have what you keep on this node: "
                   "wait for its end, or submit without the key keep",
                   job_id);
}

static int look_for_others(const struct hm_config *config, const struct hm_job *job, struct hm_job *other,
                           struct hm_error *error)
{
    uint32_t *ids = NULL;
    int count = hm_ledger_list(config, &ids, error), result = count < 0 ? -1 : 0;
    for (int i = 0; i < count && result == 0; i++) {
        if (hm_ledger_read(config, ids[i], other, error) != 0)
            result = errno == EBADMSG ? fail_unread(ids[i], error) : -1;
        else if (is_in_the_way(other, job))
            result = hm_fail(error, EBUSY,
                             "your job %u has what you keep on this node: wait for its end, or submit without the key "
                             "keep",
                             other->job_id);
    }
    free(ids);
    return result;
}

int hm_namespacejobs_claim(const struct hm_config *config, struct hm_job *job, struct hm_error *error)
{
    int result = -1;
    struct hm_job *other = malloc(sizeof(*other));
    int held = other ? hm_ledger_lock(config, error) : hm_fail(error, ENOMEM, "no memory for the ledger's entry");
    if (held >= 0 && look_for_others(config, job, other, error) == 0 &&
        hm_ledger_read(config, job->job_id, other, error) == 0 && hm_job_check_begun(other, job, error) == 0) {
        other->namespaces.is_kept = true;
        result = hm_ledger_write(config, other, error);
    }
    hm_ledger_unlock(held);
    free(other);
    job->namespaces.is_kept = result == 0;
    return result;
}
