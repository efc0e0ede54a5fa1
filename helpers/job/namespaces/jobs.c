/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "core/topology/regions.h"
#include "job/ledger/jobcgroup.h"
#include "job/ledger/living.h"
#include "words.h"

#define WORDS 40       /* room for the longest entry, "4294967295.4294967295,u4294967295," */
#define UNKNOWN "*,u*" /* of a job of which little is known: any run, and what any user keeps */

/* Jobs that have namespaces on this node. */
struct owners {
    uint32_t *ids;
    int n;
    bool has_failed; /* memory was short */
};

static int find_owner(const struct owners *owners, uint32_t id)
{
    for (int i = 0; i < owners->n; i++)
        if (owners->ids[i] == id)
            return i;
    return -1;
}

/* Takes the job of a label "hybridmem:CLUSTER:JOB.RESTART.SOCKET"; the labels of users have a "u" in its place. */
static void take_label(void *data, const char *label)
{
    struct owners *owners = data;
    const char *number = strrchr(label, ':') + 1;
    char text[HM_NUMBER];
    uint64_t id;
    snprintf(text, sizeof(text), "%.*s", (int)strcspn(number, "."), number);
    if (hm_size_parse_number(text, 0, UINT32_MAX, &id, NULL) != 0 || find_owner(owners, (uint32_t)id) >= 0)
        return;
    uint32_t *more = realloc(owners->ids, (size_t)(owners->n + 1) * sizeof(*more));
    owners->has_failed = owners->has_failed || !more;
    if (!more)
        return;
    owners->ids = more;
    more[owners->n++] = (uint32_t)id;
}

static int find_owners(struct owners *owners, struct hm_error *error)
{
    if (hm_regions_each_label(HM_REGIONS_FOLDER, HM_NAMESPACE_LABELS, take_label, owners) != 0)
        return hm_fail_errno(error, "cannot list " HM_REGIONS_FOLDER);
    return owners->has_failed ? hm_fail(error, ENOMEM, "no memory for the list of jobs") : 0;
}

/* Adds one entry of the ledger to the list. Returns how long it is then. */
static size_t add_entry(const struct hm_config *config, uint32_t id, struct hm_job *job, char *list, size_t used)
{
    used += (size_t)snprintf(list + used, WORDS, "%s%u.", used > 0 ? "," : "", id);
    /*
     * An entry that cannot be read does not say which run of the job this is, or whether the job has kept
     * namespaces. The job may still live, so its namespaces of every run stay, and those that any user keeps.
     */
    if (hm_ledger_read(config, id, job, NULL) != 0)
        return used + (size_t)snprintf(list + used, WORDS, UNKNOWN);
    used += (size_t)snprintf(list + used, WORDS, "%u", job->namespaces.restart);
    if (job->namespaces.is_kept)
        used += (size_t)snprintf(list + used, WORDS, ",u%u", job->uid);
    return used;
}

/* Lists the ledger, under its lock, and takes its jobs from the owners. Returns the list, with room for the owners that
 * are left, or NULL. */
static char *list_ledger(const struct hm_config *config, struct owners *owners, struct hm_error *error)
{
    uint32_t *ids = NULL;
    size_t used = 0;
    char *list = NULL;
    struct hm_job *job = malloc(sizeof(*job));
    int held = job ? hm_ledger_lock(config, error) : hm_fail(error, ENOMEM, "no memory for the ledger's entry");
    int count = held < 0 ? -1 : hm_ledger_list(config, &ids, error);
    if (count >= 0)
        list = calloc((size_t)count + (size_t)owners->n + 1, WORDS);
    if (count >= 0 && !list)
        hm_fail(error, ENOMEM, "no memory for the list of %d jobs", count);
    int number = errno; /* the errno of what failed, if there is no list */
    for (int i = 0; list && i < count; i++) {
        int owner = find_owner(owners, ids[i]);
        if (owner >= 0)
            owners->ids[owner] = owners->ids[--owners->n];
        used = add_entry(config, ids[i], job, list, used);
    }
    hm_ledger_unlock(held);
    free(ids);
    free(job);
    errno = number;
    return list;
}

/*
 * Adds the owners that live although they have no entry. Returns one of them, or 0. Steps whose folders do not name a
 * job do not count: with Slurm 26.05 any job's step would keep what dead jobs have left.
 */
static uint32_t add_unlisted(const struct owners *owners, char *list)
{
    uint32_t one = 0;
    size_t used = strlen(list);
    for (int i = 0; i < owners->n; i++) {
        if (!hm_jobcgroup_has(HM_CGROUPS, owners->ids[i], false))
            continue;
        one = owners->ids[i];
        used += (size_t)snprintf(list + used, WORDS, "%s%u." UNKNOWN, used > 0 ? "," : "", one);
    }
    return one;
}

char *hm_namespacejobs_list(const struct hm_config *config, uint32_t *unlisted, struct hm_error *error)
{
    struct owners owners = {.n = 0};
    char *list = find_owners(&owners, error) == 0 ? list_ledger(config, &owners, error) : NULL;
    int number = errno;
    *unlisted = list ? add_unlisted(&owners, list) : 0;
    free(owners.ids);
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
