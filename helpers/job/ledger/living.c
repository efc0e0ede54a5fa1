/* SPDX-License-Identifier: Apache-2.0 */
#include "living.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bootid.h"
#include "base/files.h"

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

bool hm_job_is_living(const struct hm_job *job)
{
    char path[HM_JOB_CGROUP + 16], events[256];
    if (hm_boot_is_past(job->boot_id))
        return false;
    /*
     * No step has started, or this is cgroup v1. `dead_ns` is set by whoever ends the job or finds it dead; a step that
     * starts sets it back to 0.
     */
    if (!job->cgroup[0])
        return job->dead_ns == 0;
    snprintf(path, sizeof(path), "%s/cgroup.events", job->cgroup);
    /* The cgroup is removed once it is empty. Any other failure, such as a lack of memory, says nothing about the job,
     * which is then taken to live. */
    if (hm_file_read(path, events, sizeof(events), NULL) != 0)
        return errno != ENOENT && errno != ENODEV;
    return strstr(events, "populated 1") != NULL;
}
