/* SPDX-License-Identifier: Apache-2.0 */
/* Names of jobs' monitoring groups, and the kernel's text on the groups of a process. Pure. */
#ifndef HM_JOB_NODE_MONGROUPNAME_H
#define HM_JOB_NODE_MONGROUPNAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define HM_MONGROUP_NAME 48                             /* bytes, '\0' included */
#define HM_MONGROUP_OWN "/proc/self/cpu_resctrl_groups" /* Linux 5.6 */

/* Writes the name of the group of this run of the job into `name`, and returns it. */
char *hm_mongroup_name(uint32_t job_id, uint32_t restart, char name[HM_MONGROUP_NAME]);

/* Is it a name that hm_mongroup_name writes? Only then `job_id` and `restart` are set. */
bool hm_mongroup_name_read(const char *name, uint32_t *job_id, uint32_t *restart);

/*
 * May a process enter the group `name`? `text` is the kernel's text on the process (HM_MONGROUP_OWN: lines "res:GROUP"
 * and "mon:GROUP"). A process in a group that the site made must stay there. Returns 0, or -1 with a text.
 */
int hm_mongroup_own_check(const char *text, const char *name, struct hm_error *error);

#endif
