/* SPDX-License-Identifier: Apache-2.0 */
/* Names of jobs' monitoring groups, and what the kernel says of the groups that a process is in. Pure. */
#ifndef HM_JOB_NODE_MONGROUPNAME_H
#define HM_JOB_NODE_MONGROUPNAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define HM_MONGROUP_NAME 48                             /* bytes, with the end of the text */
#define HM_MONGROUP_OWN "/proc/self/cpu_resctrl_groups" /* Linux 5.7 */

/* The name of the group of a job's run. Returns `name`. */
char *hm_mongroup_name(uint32_t job_id, uint32_t restart, char name[HM_MONGROUP_NAME]);

/* Is it a name of ours, as we write it? What it is of is set only then. */
bool hm_mongroup_name_read(const char *name, uint32_t *job_id, uint32_t *restart);

/*
 * May a process of which the kernel says `text` (HM_MONGROUP_OWN: the lines "res:GROUP" and "mon:GROUP") enter the
 * group `name`? A site's groups keep their tasks. Returns 0, or -1 with a text.
 */
int hm_mongroup_own_check(const char *text, const char *name, struct hm_error *error);

#endif
