/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's monitoring group of resctrl, <resctrl_dir>/mon_groups/hybridmem.JOB.RESTART: in it are the tasks of the job's
 * steps, and the kernel counts what they move between the last-level caches and memory. It is below the default control
 * group and changes no allocation; tasks that a site has put into a group of its own stay there.
 */
#ifndef HM_JOB_NODE_MONGROUP_H
#define HM_JOB_NODE_MONGROUP_H

#include "job/ledger/ledger.h"

#define HM_MONGROUP_PATH (HM_CONFIG_PATH_MAX + 64)

/* The folder of the job's group. Returns `out` (HM_MONGROUP_PATH). Pure. */
char *hm_mongroup_path(const struct hm_config *config, uint32_t job_id, const struct hm_mongroup *group, char *out);

/* Is there a group, and are all of the job's tasks in it as far as is known? Pure. */
bool hm_mongroup_is_whole(const struct hm_mongroup *group);

/* Is there resctrl, and does the processor count memory traffic at all? Returns 0, or -1 with a text. */
int hm_mongroup_check(const struct hm_config *config, struct hm_error *error);

/*
 * Make the group of a job whose first step this is (`step_id`), unless there is one or the configuration wants none:
 * the entry is written first, then the folder made. Wants the lock. Where there is none the entry says why.
 */
void hm_mongroup_make(const struct hm_config *config, struct hm_job *job, uint32_t step_id);

/*
 * Put the calling process, which is root and has one thread, into the job's group: its children follow it. Returns 0,
 * or -1 with a text: it is where it was.
 */
int hm_mongroup_enter(const struct hm_config *config, uint32_t job_id, const struct hm_mongroup *group,
                      struct hm_error *error);

/*
 * A task is not in the group: the entry gets the reason, so that what is counted is not taken for the whole job's.
 * Where that cannot be written the group is removed, which leaves no figure either. Takes the lock.
 */
void hm_mongroup_spoil(const struct hm_config *config, uint32_t job_id, const struct hm_mongroup *group,
                       const char *why);

/* Remove the job's group: what is in it falls back to the default group. Returns 0, also where there is none, or -1. */
int hm_mongroup_remove(const struct hm_config *config, uint32_t job_id, const struct hm_mongroup *group,
                       struct hm_error *error);

/* Remove the groups with our names whose jobs do not have them in the ledger. Takes the lock; failures are logged. */
void hm_mongroup_reap(const struct hm_config *config);

#endif
