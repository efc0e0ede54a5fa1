/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a job on this node. Failures go to the log: there is nobody else to tell. */
#ifndef HM_JOB_HOOKS_FINISH_H
#define HM_JOB_HOOKS_FINISH_H

#include "job/ledger/ledger.h"

/*
 * How long a job's helpers have to end by themselves, and as long again once they were killed. hybridmem-job begin and
 * end have 60 s in all (main.c): 20 s may go here in the job's own epilog. Jobs that were found dead may be many, and
 * each is stopped twice where its grace is over: 4 s at most each time.
 */
#define HM_FINISH_PATIENCE_MS 10000
#define HM_FINISH_ORPHAN_PATIENCE_MS 2000

/*
 * End the job: stop its monitor and migrators, take back what was changed, write its record with `warning` (NULL: none)
 * and `exit_status` (of wait(2), Slurm's word; NULL: not known here), remove its entry. Nothing happens where another
 * living process is at it, or there is no entry; one that nobody can read is removed alone. Returns 0; 1
 * where the entry is gone, and memory of the job is left for a later reap, as it is in use or the time for its wipe is
 * over, or may be, as the entry could not be read; or -1 where the entry is still there and could not be read or
 * removed.
 */
int hm_finish_job(const struct hm_config *config, uint32_t job_id, const char *warning, const int *exit_status);

/* Take the job's changes back, with a warning in the entry where that fails. Wants the lock; the caller writes the
 * entry. */
void hm_finish_undo(const struct hm_config *config, struct hm_job *job);

/* End the job's monitor and migrators, by force if need be. Waits, at most `patience_ms` twice: not with the lock. */
void hm_finish_stop_helpers(const struct hm_job *job, int patience_ms);

#endif
