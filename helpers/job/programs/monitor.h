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
 * A monitor is started in three parts, as the lock must not be held while a program starts: begin, launch, note.
 *
 * hm_monitor_begin returns true where this process is to start the job's monitor: none runs, and no other process is
 * starting it. The entry then says so. The caller holds the lock, writes the entry, and calls the other two.
 */
bool hm_monitor_begin(struct hm_job *job);
/*
 * Starts the program; continues a samples file that a killed monitor left. Needs job->cgroup and at least one tier. Do
 * not hold the lock. Returns 0, or -1 with a text.
 */
int hm_monitor_launch(const struct hm_config *config, const struct hm_tiers *tiers, const struct hm_job *job,
                      struct hm_process *monitor, struct hm_error *error);
/* Puts the monitor into the entry, which was read again meanwhile; NULL: none runs. The caller writes the entry. */
void hm_monitor_note(struct hm_job *job, const struct hm_process *monitor);

/* The absolute path of the monitor's program. */
const char *hm_monitor_program(void);
/*
 * The uid and gid that monitors run as. Do not hold the lock. Returns 0, or -1: ENOENT where there is no such user, or
 * the user is root; else as hm_lookup_user.
 */
int hm_monitor_identity(uid_t *uid, gid_t *gid, struct hm_error *error);

#endif
