/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts hybridmem-monitor for a job. The monitor opens the node's counters as root, then becomes the system user
 * `hybridmem`. It runs outside the job's cgroup: inside, its memory would be charged to the job, Slurm up to 24.11
 * would kill it with the extern step, and later versions would wait for it. It ends when the job's cgroup.events says
 * that the job has no processes.
 */
#ifndef HM_JOB_PROGRAMS_MONITOR_H
#define HM_JOB_PROGRAMS_MONITOR_H

#include "job/ledger/ledger.h"

#define HM_MONITOR_USER "hybridmem"

/*
 * Starts the monitor unless it runs, and notes it in the entry (the caller writes that). Continues a samples file that
 * a killed monitor left. Wants the lock, job->cgroup, and at least one tier. Returns 0, or -1 with a text.
 */
int hm_monitor_start(const struct hm_config *config, const struct hm_tiers *tiers, struct hm_job *job,
                     struct hm_error *error);

/* The absolute path of the monitor's program. */
const char *hm_monitor_program(void);
/* The uid and gid that monitors run as. Returns 0, or -1 (ENOENT). */
int hm_monitor_identity(uid_t *uid, gid_t *gid, struct hm_error *error);

#endif
