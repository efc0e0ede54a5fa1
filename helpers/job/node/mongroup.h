/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's monitoring group of resctrl, <resctrl_dir>/mon_groups/hybridmem.JOB.RESTART. The tasks of the job's steps are
 * in it, and the kernel counts what they move between the last-level caches and memory. The group is below the default
 * control group and changes no limit of caches or bandwidth. Tasks that a site has put into other groups stay there.
 */
#ifndef HM_JOB_NODE_MONGROUP_H
#define HM_JOB_NODE_MONGROUP_H

#include "job/ledger/ledger.h"

#define HM_MONGROUP_PATH (HM_CONFIG_PATH_MAX + 64)
#define HM_MONGROUP_FOLDER "mon_groups" /* below resctrl_dir */

/* Writes the path of the job's group into `out` (HM_MONGROUP_PATH bytes), and returns `out`. Pure. */
char *hm_mongroup_path(const struct hm_config *config, uint32_t job_id, const struct hm_mongroup *group, char *out);

/* Is there a group, and does it count the whole job, as far as is known? Pure. */
bool hm_mongroup_is_whole(const struct hm_mongroup *group);

/* Checks that resctrl is mounted and that the processor counts memory traffic. Returns 0, or -1 with a text. */
int hm_mongroup_check(const struct hm_config *config, struct hm_error *error);

/* Opens the folder of groups, and tells whether users reach it. Returns a descriptor, or -1 with errno. */
int hm_mongroup_folder(const struct hm_config *config, bool *is_reached);

/* Opens the folder of groups. Returns a descriptor, or -1 with errno (EACCES: users reach it). */
int hm_mongroup_open(const struct hm_config *config);

/*
 * Takes from users all permissions on the folder of groups. The kernel lets them list it and pass through it, and with
 * either they can hold up whoever makes a group (base/files.h). Does nothing if the configuration wants no
 * groups. Waits at most two seconds, as somebody may be listing the folder. Failures are logged; no groups are made
 * then. Call this before users have processes on the node. Do not hold the lock.
 */
void hm_mongroup_shut(const struct hm_config *config);

/*
 * Makes the job's group, if `step_id` is the job's first step, there is no group, and the configuration wants one. The
 * entry is written before the folder is made. If a group is wanted and there is none in the end, the entry says why. A
 * group that is left from an earlier run is not taken over: its tasks and its counts are of that run.
 * The caller holds the lock.
 */
void hm_mongroup_make(const struct hm_config *config, struct hm_job *job, uint32_t step_id);

/*
 * Puts the calling process, which must be root and have one thread, into the job's group; its children will be in it,
 * too. Returns 0, or -1 with a text, and the process stays where it was.
 */
int hm_mongroup_enter(const struct hm_config *config, uint32_t job_id, const struct hm_mongroup *group,
                      struct hm_error *error);

/*
 * Removes the group of a job of the user `uid`; tasks in it fall back to the default group. Returns 0, also if there is
 * no group, or -1: EBUSY where earlier removals of this user's groups are stuck. Ends within some seconds. Do not hold
 * the lock. Only for programs with one thread.
 */
int hm_mongroup_remove(const struct hm_config *config, uint32_t job_id, uint32_t uid, const struct hm_mongroup *group,
                       struct hm_error *error);

/*
 * Removes groups with our names that no entry of the ledger has. What cannot be removed is logged. Takes the lock for a
 * moment. Ends within some seconds. Only for programs with one thread.
 */
void hm_mongroup_reap(const struct hm_config *config);

#endif
