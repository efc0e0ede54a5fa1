/* SPDX-License-Identifier: Apache-2.0 */
#include "strangers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/look.h"
#include "base/process.h"
#include "job/ledger/jobcgroup.h"
#include "job/ledger/ledger.h"
#include "job/ledger/living.h"
#include "slurm/stepcgroup.h"

#define LOOK_MS 3000

struct question {
    const struct hm_config *config;
    const char *cgroups;
    uint32_t job_id;
};

/* Takes the folder out of the list. Returns whether it was there. */
static bool drop(struct hm_job_folders *folders, const char *path)
{
    for (size_t i = 0; i < folders->n; i++)
        if (strcmp(folders->path[i], path) == 0) {
            memmove(folders->path[i], folders->path[folders->n - 1], sizeof(folders->path[i]));
            folders->n--;
            return true;
        }
    return false;
}

/*
 * May one of the folders be the job's whose entry, without a folder, was read, or could not be (errno)? Under the
 * number of the job that asks that is so only where a step of it has made the entry, before the prolog. Any other is of
 * an earlier job of that number, which has ended.
 */
static bool may_have_folder(const struct hm_job *job, bool is_read, bool is_own)
{
    if (is_own)
        return is_read && !job->is_entered && !hm_job_is_over(job);
    return is_read ? !hm_job_is_over(job) : errno != ENOENT;
}

/*
 * Takes the folders of the ledger's jobs out of the list. Returns how many jobs may have one of those that are left, as
 * their entries have no folder yet or cannot be read; or -1. The job `job_id` is the one that asks, and has none of
 * those if `has_own`.
 */
static int drop_known(const struct hm_config *config, uint32_t job_id, bool has_own, struct hm_job_folders *folders)
{
    uint32_t *ids = NULL;
    int n = 0;
    struct hm_job *job = malloc(sizeof(*job));
    int count = job ? hm_ledger_list(config, &ids, NULL) : -1;
    for (int i = 0; i < count; i++) {
        bool is_read = hm_ledger_read(config, ids[i], job, NULL) == 0;
        bool is_own = ids[i] == job_id;
        if (is_read && job->cgroup[0])
            (void)drop(folders, job->cgroup);
        else
            n += may_have_folder(job, is_read, is_own) && !(is_own && has_own);
    }
    free(ids);
    free(job);
    return count < 0 ? -1 : n;
}

/* Have more of the folders processes than the ledger has jobs for them? */
static bool are_more_than_known(const struct hm_config *config, uint32_t job_id, struct hm_job_folders *folders)
{
    char own[HM_JOB_CGROUP];
    if (folders->n == 0)
        return false;
    /* With PrologFlags=RunInJob the prolog runs in its job's folder. */
    bool has_own = hm_cgroup_of_self(own, sizeof(own)) == 0 && hm_cgroup_cut_to_job(own) == 0 && drop(folders, own);
    /* The entries are read after the folders were found: a job whose prolog is over has its entry. */
    int known = drop_known(config, job_id, has_own, folders), living = 0;
    for (size_t i = 0; i < folders->n; i++)
        living += hm_jobcgroup_has_processes(folders->path[i]);
    return known < 0 || living > known;
}

static int look(const void *asked, void *found)
{
    const struct question *question = asked;
    char entries[HM_CONFIG_PATH_MAX + 16];
    struct hm_job_folders unnamed = {0};
    hm_ledger_folder_path(question->config, entries, sizeof(entries));
    *(bool *)found = hm_jobcgroup_has_stranger(question->cgroups, entries, question->job_id, &unnamed) ||
                     are_more_than_known(question->config, question->job_id, &unnamed);
    free(unnamed.path);
    return 0;
}

bool hm_strangers_are_there(const struct hm_config *config, const char *cgroups, uint32_t job_id)
{
    const struct question question = {config, cgroups, job_id};
    bool found = false;
    return hm_look(look, &question, &found, sizeof(found), LOOK_MS) != 0 || found;
}
