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

/* What a look decides at a folder: to go on with the folders in it, or without them, or that it has found something. */
enum verdict { GO_IN, PASS_BY, FOUND };

struct look {
    const char *cgroups;
    /* `is_roots`: the folder belongs to the caller. It is below `cgroups`. */
    enum verdict (*judge)(const struct look *look, const FTSENT *folder, bool is_roots);
    bool finds_by_failure; /* what cannot be looked at may be what is looked for */
    uint32_t job_id;
    bool counts_unnamed; /* of hm_jobcgroup_has */
    const char *entries; /* of hm_jobcgroup_has_stranger, as the next one */
    struct hm_job_folders *unnamed;
};

/*
 * Goes through the folders below `cgroups`. A folder that is gone when the walk comes to it is no failure. The walk has
 * the status of each file, too: fts(3) can do without (FTS_NOSTAT), but then it counts folders by the links of the one
 * above, and passes those by for which one was made meanwhile.
 */
static bool walk(const struct look *look)
{
    char root[256];
    char *const roots[] = {root, NULL};
    FTSENT *folder = NULL;
    bool found = false;
    snprintf(root, sizeof(root), "%s", look->cgroups);
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!tree)
        return look->finds_by_failure;
    while (!found && (folder = fts_read(tree))) {
        bool is_root = folder->fts_level == FTS_ROOTLEVEL;
        bool is_unknown = folder->fts_info == FTS_DNR || folder->fts_info == FTS_ERR || folder->fts_info == FTS_NS;
        enum verdict verdict = GO_IN;
        if (is_unknown)
            verdict = look->finds_by_failure && (folder->fts_errno != ENOENT || is_root) ? FOUND : GO_IN;
        else if (folder->fts_info == FTS_D && !is_root)
            verdict = look->judge(look, folder, folder->fts_statp->st_uid == geteuid());
        found = verdict == FOUND;
        if (verdict == PASS_BY)
            fts_set(tree, folder, FTS_SKIP);
    }
    /* After the last folder fts_read sets errno to 0. */
    found = found || (look->finds_by_failure && errno != 0);
    fts_close(tree);
    return found;
}

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
static bool is_others(const FTSENT *folder, bool is_roots, uint32_t job_id)
{
    uint64_t id;
    bool is_another_jobs = read_job(folder->fts_name, &id) && id != job_id;
    return !is_in_job(folder->fts_parent, job_id) && (is_another_jobs || !is_roots);
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

static enum verdict judge_stranger(const struct look *look, const FTSENT *folder, bool is_roots)
{
    uint64_t id;
    if (!is_roots)
        return PASS_BY;
    if (is_step(folder))
        return add_job_of(folder, look->unnamed) != 0 ? FOUND : PASS_BY;
    if (is_strangers(folder, look->entries, look->job_id))
        return FOUND;
    return read_job(folder->fts_name, &id) ? PASS_BY : GO_IN;
}

bool hm_jobcgroup_has_stranger(const char *cgroups, const char *entries, uint32_t job_id,
                               struct hm_job_folders *unnamed)
{
    const struct look look = {
        .cgroups = cgroups, .judge = judge_stranger, .job_id = job_id, .entries = entries, .unnamed = unnamed};
    return walk(&look);
}

static enum verdict judge_own(const struct look *look, const FTSENT *folder, bool is_roots)
{
    if (is_others(folder, is_roots, look->job_id))
        return PASS_BY;
    bool is_own = may_be_of(folder, look->job_id, look->counts_unnamed);
    return is_own && hm_jobcgroup_has_processes(folder->fts_path) ? FOUND : GO_IN;
}

bool hm_jobcgroup_has(const char *cgroups, uint32_t job_id, bool counts_unnamed)
{
    const struct look look = {.cgroups = cgroups,
                              .judge = judge_own,
                              .finds_by_failure = true,
                              .job_id = job_id,
                              .counts_unnamed = counts_unnamed};
    return walk(&look);
}
