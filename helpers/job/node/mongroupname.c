/* SPDX-License-Identifier: Apache-2.0 */
#include "mongroupname.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

char *hm_mongroup_name(uint32_t job_id, uint32_t restart, char name[HM_MONGROUP_NAME])
{
    snprintf(name, HM_MONGROUP_NAME, "hybridmem.%u.%u", job_id, restart);
    return name;
}

bool hm_mongroup_name_read(const char *name, uint32_t *job_id, uint32_t *restart)
{
    uint32_t job, run;
    char again[HM_MONGROUP_NAME];
    if (sscanf(name, "hybridmem.%10u.%10u", &job, &run) != 2 || strcmp(name, hm_mongroup_name(job, run, again)) != 0)
        return false;
    *job_id = job;
    *restart = run;
    return true;
}

/* Finds the first line that begins with `key`, and copies what follows it. Returns false if there is no such line. */
static bool find_word(const char *text, const char *key, char *word, size_t size)
{
    const char *line = text;
    while (strncmp(line, key, strlen(key)) != 0) {
        line = strchr(line, '\n');
        if (!line)
            return false;
        line++;
    }
    line += strlen(key);
    snprintf(word, size, "%.*s", (int)strcspn(line, "\n"), line);
    return true;
}

/*
 * The kernel refuses to move a task out of another control group, but would move one out of another monitoring group:
 * so both are checked. Without resctrl the kernel leaves both names empty.
 */
int hm_mongroup_own_check(const char *text, const char *name, struct hm_error *error)
{
    char control[128], monitor[128];
    if (!find_word(text, "res:", control, sizeof(control)) || !find_word(text, "mon:", monitor, sizeof(monitor)))
        return hm_fail(error, EBADMSG,
                       "the resctrl groups of its tasks are not known: " HM_MONGROUP_OWN " is of another form");
    if (control[0] && strcmp(control, "/") != 0)
        return hm_fail(error, EPERM, "its tasks are in resctrl's control group %.60s, and stay there", control);
    if (monitor[0] && strcmp(monitor, name) != 0)
        return hm_fail(error, EPERM, "its tasks are in resctrl's monitoring group %.60s, and stay there", monitor);
    return 0;
}
