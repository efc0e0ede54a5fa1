/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a job on this node. Failures are logged, as there is no caller who could act on them. */
#ifndef HM_JOB_HOOKS_FINISH_H
#define HM_JOB_HOOKS_FINISH_H

#include "job/ledger/ledger.h"

/*
 * How long a job's helpers may take to end by themselves; those that take longer are killed, and have the same time
 * again to end. hybridmem-job begin and end have 60 s, not counting their work on memory (namespaces/hooklimit.h). A
 * job's own epilog may spend 2 x 10 s here. A reap may find many dead jobs. It stops the helpers of a job twice: when
 * it finds the job dead, and when it ends the job. Each takes at most 2 x 2 s.
 */
#define HM_FINISH_PATIENCE_MS 10000
#define HM_FINISH_ORPHAN_PATIENCE_MS 2000

/*
 * Ends the job: stops its monitor and migrators, takes back what was changed, writes its record, removes its entry.
 * `warning` is NULL when the job's own epilog ends it. Otherwise it says why somebody else does, and goes into the
 * record unless the job's own epilog was started before; it then leaves the record to hm_reap_records. `exit_status` is
 * that of wait(2), as Slurm gives it (NULL: not known here). Nothing happens where another process is ending the job
 * (hm_job_has_finisher), or where there is no entry. An entry that nobody can read is only removed. If the record could
 * be written nowhere, or a setting of the node could not be restored, the entry stays for the next reap. If somebody
 * else ends the job as it was found dead, and it begins a step meanwhile, the entry stays with the job, for its own
 * epilog.
 *
 * Returns
 *
 * - 0;
 * - 1 where the entry is gone and memory of the job may be left for a later reap: it is in use, or the time for its
 *   wipe is over, or the program that wipes it could not be run to its end, or the entry could not be read;
 * - -1 where the entry could not be locked, read, written or removed, where a new run has replaced it meanwhile, or
 *   where memory is short.
 */
int hm_finish_job(const struct hm_config *config, uint32_t job_id, const char *warning, const int *exit_status);

/*
 * The same for a job that was found dead. `judged` is its entry as it was then. Nothing happens where the entry is of
 * another run now, or a step has begun since.
 */
int hm_finish_dead(const struct hm_config *config, const struct hm_job *judged, const char *warning);

/* Ends the job's monitor and migrators, by force if need be. Waits up to twice `patience_ms`: do not hold the lock. */
void hm_finish_stop_helpers(const struct hm_job *job, int patience_ms);

#endif
