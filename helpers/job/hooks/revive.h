/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives the entry of a job that was found dead back to the job: a step of it has begun while it was being finished. The
 * job's own epilog then writes the record of what follows.
 */
#ifndef HM_JOB_HOOKS_REVIVE_H
#define HM_JOB_HOOKS_REVIVE_H

#include "claim.h"

/* Has a step begun since the job's end was noted, and has no epilog of the job come? `now` is the entry as it was read
 * again. Pure. */
bool hm_revive_is_due(const struct hm_job *now);

/*
 * Frees the entry `now` from its finisher, and takes its end back. `job` is what the finisher has made of the entry
 * meanwhile, and `found` what it found when it took the entry. `is_written`: a record was written of the job's time up
 * to then, and of its steps up to the claim. The entry then begins where that record ends. The step that has begun has
 * no helpers, as the entry was being finished: they are started with the next step. The caller holds the lock, and
 * writes the entry. Pure.
 */
void hm_revive(const struct hm_job *job, bool is_written, const struct hm_found *found, struct hm_job *now);

#endif
