/* SPDX-License-Identifier: Apache-2.0 */
#include "strangers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/look.h"
#include "job/ledger/jobcgroup.h"
#include "job/ledger/ledger.h"
#include "job/ledger/living.h"

#define LOOK_MS 3000

struct question {
    const struct hm_config *config;
    const char *cgroups;
    uint32_t job_id;
};

/* Takes the folder out of the list, if it is there. */
static void drop(struct hm_job_folders *folders, const char *path)
{
    for (size_t i = 0; i < folders->n; i++)
        if (strcmp(folders->path[i], path) == 0) {
            memmove(folders->path[i], folders->path[folders->n - 1], sizeof(folders->path[i]));
            folders->n--;
            return;
        }
}

/*
 * Takes the folders of the ledger's jobs out of the list. Returns how many jobs may have one of those that are left, as
 * their entries have no folder yet or cannot be read; or -1. An entry under the number of the job that asks is none of
 * them: it is of an earlier job, which has ended.
 */
static int drop_known(const struct hm_config *config, uint32_t job_id, struct hm_job_folders *folders)
{
    uint32_t *ids = NULL;
    int n = 0;
    struct hm_job *job = malloc(sizeof(*job));
    int count = job ? hm_ledger_list(config, &ids, NULL) : -1;
    for (int i = 0; i < count; i++) {
        bool is_read = hm_ledger_read(config, ids[i], job, NULL) == 0;
        if (is_read && job->cgroup[0])
            drop(folders, job->cgroup);
        else if (ids[i] != job_id && (is_read ? !hm_job_is_over(job) : errno != ENOENT))
            n++;
    }
    free(ids);
    free(job);
    return count < 0 ? -1 : n;
}

/* Have more of the folders processes than the ledger has jobs for them? */
static bool are_more_than_known(const struct hm_config *config, uint32_t job_id, struct hm_job_folders *folders)
{
    if (folders->n == 0)
        return false;
    /* The entries are read after the folders were found: a job whose prolog is over has its entry. */
    int known = drop_known(config, job_id, folders), living = 0;
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
