/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives the entry of a job that was found dead back to the job: a step of it has begun while it was being finished. The
 * job's own epilog then writes the record of what follows.
 */
#ifndef HM_JOB_HOOKS_REVIVE_H
#define HM_JOB_HOOKS_REVIVE_H

#include "job/ledger/ledger.h"

/* Has a step begun since the job's end was noted? `now` is the entry as it was read again. Pure. */
bool hm_revive_is_due(const struct hm_job *now);

/*
 * Frees the entry `now` from its finisher, and takes its end back. `job` is what the finisher has made of the entry
 * meanwhile. `is_written`: a record was written of the job's time up to then, and of its first `n_steps` steps. The
 * entry then begins where that record ends. The caller holds the lock, and writes the entry. Pure.
 */
void hm_revive(const struct hm_job *job, bool is_written, uint32_t n_steps, struct hm_job *now);

#endif
