/* SPDX-License-Identifier: Apache-2.0 */
#include "living.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bootid.h"
#include "base/files.h"
#include "base/heldlock.h"
#include "hurry.h"

/* The last "/step_" of the path, NULL where there is none, or nothing before it. */
static char *find_step(char *path)
{
    char *last = NULL;
    for (char *found = strstr(path, "/step_"); found; found = strstr(found + 1, "/step_"))
        last = found;
    return last == path ? NULL : last;
}

int hm_cgroup_cut_to_job(char *path)
{
    char *cut = find_step(path);
    if (!cut)
        return hm_fail(NULL, EINVAL, "no step in %s", path);
    *cut = '\0';
    return 0;
}

int hm_cgroup_cut_to_step(char *path)
{
    char *step = find_step(path);
    if (!step)
        return hm_fail(NULL, EINVAL, "no step in %s", path);
    step[1 + strcspn(step + 1, "/")] = '\0';
    return 0;
}

static void copy_entry(const struct hm_job *job, struct hm_life *life)
{
    *life = (struct hm_life){.job_id = job->job_id, .n_steps = job->n_steps, .start_ns = job->start_ns};
    hm_text_copy(life->cgroup, job->cgroup, sizeof(life->cgroup));
}

static void look(struct hm_life *life)
{
    char path[HM_JOB_CGROUP + 16], events[256];
    if (!life->cgroup[0] || hm_heldlock_check("a look at a cgroup", NULL) != 0)
        return;
    snprintf(path, sizeof(path), "%s/cgroup.events", life->cgroup);
    /* The cgroup is removed once it is empty. */
    if (hm_file_read(path, events, sizeof(events), NULL) == 0)
        life->is_dead = !strstr(events, "populated 1");
    else
        life->is_dead = errno == ENOENT || errno == ENODEV;
}

void hm_life_look(const struct hm_job *job, struct hm_life *life)
{
    copy_entry(job, life);
    look(life);
}

/* For each entry that can be read, copies what a look at its job needs. */
static void copy_entries(const struct hm_config *config, struct hm_lives *lives)
{
    uint32_t *ids = NULL;
    struct hm_job *job = malloc(sizeof(*job));
    int count = job ? hm_ledger_list(config, &ids, NULL) : 0;
    *lives = (struct hm_lives){.life = count > 0 ? calloc((size_t)count, sizeof(*lives->life)) : NULL};
    for (int i = 0; lives->life && i < count; i++)
        if (hm_ledger_read(config, ids[i], job, NULL) == 0)
            copy_entry(job, &lives->life[lives->n++]);
    free(ids);
    free(job);
}

void hm_lives_look(const struct hm_config *config, struct hm_lives *lives)
{
    hm_hurry_begin();
    copy_entries(config, lives);
    hm_hurry_end();
    for (int i = 0; i < lives->n; i++)
        look(&lives->life[i]);
}

void hm_lives_free(struct hm_lives *lives)
{
    free(lives->life);
    *lives = (struct hm_lives){0};
}

const struct hm_life *hm_lives_find(const struct hm_lives *lives, uint32_t job_id)
{
    for (int i = 0; i < lives->n; i++)
        if (lives->life[i].job_id == job_id)
            return &lives->life[i];
    return NULL;
}

bool hm_job_is_living(const struct hm_job *job, const struct hm_life *life)
{
    if (hm_boot_is_past(job->boot_id))
        return false;
    /*
     * No step has started, or this is cgroup v1. `dead_ns` is set by whoever ends the job or finds it dead; a step that
     * starts sets it back to 0.
     */
    if (!job->cgroup[0])
        return job->dead_ns == 0;
    bool is_unchanged = life && life->start_ns == job->start_ns && life->n_steps == job->n_steps &&
                        strcmp(life->cgroup, job->cgroup) == 0;
    return !is_unchanged || !life->is_dead;
}
