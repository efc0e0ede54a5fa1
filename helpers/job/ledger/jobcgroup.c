/* SPDX-License-Identifier: Apache-2.0 */
#include "jobcgroup.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/size.h"
#include "slurm/stepcgroup.h"

#define JOB "job_"
#define STEP "step_"

/* Reads the number of "job_NUMBER". Returns false where the name has another form. */
static bool read_job(const char *name, uint64_t *id)
{
    return strncmp(name, JOB, strlen(JOB)) == 0 &&
           hm_size_parse_number(name + strlen(JOB), 0, UINT32_MAX, id, NULL) == 0;
}

static bool is_step(const FTSENT *folder)
{
    return strncmp(folder->fts_name, STEP, strlen(STEP)) == 0;
}

static bool is_in_job(const FTSENT *folder, uint32_t job_id)
{
    uint64_t id;
    for (const FTSENT *at = folder; at && at->fts_level >= FTS_ROOTLEVEL; at = at->fts_parent)
        if (read_job(at->fts_name, &id) && id == job_id)
            return true;
    return false;
}

/*
 * Is the folder another job's, or not Slurm's? Slurm's folders of jobs belong to root. systemd gives users cgroup
 * folders of their own, in which they can make as many folders as they like, with any names.
 */
static bool is_others(const FTSENT *folder, uint32_t job_id)
{
    uint64_t id;
    bool is_another_jobs = read_job(folder->fts_name, &id) && id != job_id;
    return folder->fts_level > FTS_ROOTLEVEL && !is_in_job(folder->fts_parent, job_id) &&
           (is_another_jobs || folder->fts_statp->st_uid != geteuid());
}

/* Is it the job's folder or in it, or, if that counts, a step's folder in folders whose names do not tell the job? */
static bool may_be_of(const FTSENT *folder, uint32_t job_id, bool counts_unnamed)
{
    return is_in_job(folder, job_id) || (counts_unnamed && is_step(folder));
}

/*
 * Is it a folder without processes? slurmstepd sometimes leaves one of a job that has ended. In cgroup v1 a folder
 * lists only its own processes; the walk comes to the folders in it later. A folder whose state cannot be read counts
 * as not empty.
 */
static bool is_empty(const char *folder)
{
    char path[PATH_MAX], text[256];
    snprintf(path, sizeof(path), "%s/cgroup.events", folder);
    if (hm_file_read(path, text, sizeof(text), NULL) == 0)
        return strstr(text, "populated 0");
    if (errno != ENOENT)
        return false;
    snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
    return hm_file_read_start(path, text, sizeof(text)) == 0 && text[0] == '\0';
}

bool hm_jobcgroup_has_processes(const char *folder)
{
    return !is_empty(folder) && access(folder, F_OK) == 0;
}

/* Is it the folder of another job than `job_id` that has no file in `entries`, and does it have processes? */
static bool is_strangers(const FTSENT *folder, const char *entries, uint32_t job_id)
{
    char path[PATH_MAX];
    uint64_t id;
    if (!read_job(folder->fts_name, &id) || id == job_id)
        return false;
    snprintf(path, sizeof(path), "%s/%u", entries, (uint32_t)id);
    bool has_entry = access(path, F_OK) == 0 || errno != ENOENT;
    /* One that goes at this moment is as one that has gone before. */
    return !has_entry && hm_jobcgroup_has_processes(folder->fts_path);
}

/* Adds the folder above a step's folder, unless it was the last one. Returns 0 or -1. */
static int add_job_of(const FTSENT *step, struct hm_job_folders *folders)
{
    char path[HM_JOB_CGROUP];
    if (snprintf(path, sizeof(path), "%s", step->fts_path) >= (int)sizeof(path) || hm_cgroup_cut_to_job(path) != 0)
        return -1;
    if (folders->n > 0 && strcmp(folders->path[folders->n - 1], path) == 0)
        return 0;
    void *more = realloc(folders->path, (folders->n + 1) * sizeof(path));
    if (!more)
        return -1;
    folders->path = more;
    memcpy(folders->path[folders->n++], path, sizeof(path));
    return 0;
}

bool hm_jobcgroup_has_stranger(const char *cgroups, const char *entries, uint32_t job_id,
                               struct hm_job_folders *unnamed)
{
    char root[256];
    char *const roots[] = {root, NULL};
    FTSENT *folder = NULL;
    bool found = false;
    snprintf(root, sizeof(root), "%s", cgroups);
    struct stat status;
    uint64_t id;
    /* Its own lstat(2) for folders, as each folder has many files. */
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
    while (walk && !found && (folder = fts_read(walk))) {
        if (folder->fts_info != FTS_D || folder->fts_level == FTS_ROOTLEVEL)
            continue;
        bool is_roots = lstat(folder->fts_path, &status) == 0 && status.st_uid == geteuid();
        bool is_unnamed = is_roots && is_step(folder);
        found = is_roots && (is_unnamed ? add_job_of(folder, unnamed) != 0 : is_strangers(folder, entries, job_id));
        if (!is_roots || is_unnamed || read_job(folder->fts_name, &id))
            fts_set(walk, folder, FTS_SKIP);
    }
    if (walk)
        fts_close(walk);
    return found;
}

bool hm_jobcgroup_has(const char *cgroups, uint32_t job_id, bool counts_unnamed)
{
    char root[256];
    char *const roots[] = {root, NULL};
    FTSENT *folder = NULL;
    bool found = false;
    snprintf(root, sizeof(root), "%s", cgroups);
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!walk)
        return true;
    while (!found && (folder = fts_read(walk))) {
        bool is_gone = folder->fts_errno == ENOENT && folder->fts_level > FTS_ROOTLEVEL;
        if (folder->fts_info == FTS_D && is_others(folder, job_id)) {
            fts_set(walk, folder, FTS_SKIP);
            continue;
        }
        bool is_unknown = folder->fts_info == FTS_DNR || folder->fts_info == FTS_ERR || folder->fts_info == FTS_NS;
        found = folder->fts_info == FTS_D ? may_be_of(folder, job_id, counts_unnamed) && !is_empty(folder->fts_path)
                                          : is_unknown && !is_gone;
    }
    /* After the last folder fts_read sets errno to 0. */
    found = found || errno != 0;
    fts_close(walk);
    return found;
}
