/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting hybridmem-monitor for a job. It opens the node's counters as root, becomes the system user `hybridmem`, and
 * runs outside the job's cgroup: there it would be charged to the job, Slurm up to 24.11 would kill it with the extern
 * step, and later versions would wait for it. Its guard is the job's own cgroup.events.
 */
#ifndef HM_JOB_PROGRAMS_MONITOR_H
#define HM_JOB_PROGRAMS_MONITOR_H

#include "job/ledger/ledger.h"

#define HM_MONITOR_USER "hybridmem"

/*
 * Start the monitor unless it runs already, and note it in the entry (the caller writes that). Wants the lock,
 * job->cgroup and at least one tier. A samples file that a killed monitor left is continued. Returns 0, or -1 with a
 * text.
 */
int hm_monitor_start(const struct hm_config *config, const struct hm_tiers *tiers, struct hm_job *job,
                     struct hm_error *error);

/* The monitor's program, absolute. */
const char *hm_monitor_program(void);
/* The uid that monitors run as. Returns 0, or -1 (ENOENT). */
int hm_monitor_identity(uid_t *uid, gid_t *gid, struct hm_error *error);

#endif
