/* SPDX-License-Identifier: Apache-2.0 */
#include "stepcgroup.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

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
