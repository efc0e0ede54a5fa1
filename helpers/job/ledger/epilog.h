/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job's own epilog tells of the job. An epilog that cannot lock the ledger in time leaves it in a file beside
 * the entry, "<job>.epilog", for whoever ends the job.
 */
#ifndef HM_JOB_LEDGER_EPILOG_H
#define HM_JOB_LEDGER_EPILOG_H

#include "ledger.h"

/*
 * Notes the exit status that Slurm gave to its epilog, unless that is 0 and the final status is noted already. For a
 * job that Slurm ended itself (scancel, the time limit), it gives 0, as it does not yet know how the batch script
 * ended. If the script ran on this node, slurmstepd has noted the true status: it waits for all tasks before the epilog
 * runs.
 */
void hm_epilog_note_status(struct hm_job *job, int status);

/* Writes the name of the file into `out`, and returns it. */
char *hm_epilog_name(uint32_t job_id, char *out, size_t size);

/* Leaves the file: the epilog came now, with this status of wait(2) (NULL: not known). Takes no lock. Returns 0, or -1
 * with a text. */
int hm_epilog_leave(const struct hm_config *config, uint32_t job_id, const int *exit_status, struct hm_error *error);

/* Is there such a file? It may be of an earlier run. */
bool hm_epilog_has_come(const struct hm_config *config, uint32_t job_id);

/*
 * Notes in the entry what such a file says: the job has ended, when, and how. Returns true where there is one of this
 * run. The file stays: it goes with the entry, and the next run's prolog removes it. The caller holds the lock, and
 * writes the entry.
 */
bool hm_epilog_take(const struct hm_config *config, struct hm_job *job);

/* Removes the file, which is of an earlier run. The caller holds the lock. */
void hm_epilog_forget(const struct hm_config *config, uint32_t job_id);

#endif
