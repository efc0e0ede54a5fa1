/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that run, by what slurmctld says, though they have no process on this node: an allocation between two steps, or
 * one whose user has ended its extern step.
 */
#ifndef HM_JOB_HOOKS_IDLE_H
#define HM_JOB_HOOKS_IDLE_H

#include "job/ledger/ledger.h"

/* The questions of one reap; all 0 at its beginning. */
struct hm_idle {
    bool is_silent; /* slurmctld did not answer one of them: it is asked no more */
    int n_asked;
};

/*
 * Is the job only idle? `job` is its entry, of a job that has been dead for its whole grace. slurmctld is asked, unless
 * the job's own epilog has run, or the job is of an earlier boot. If the job runs, its entry gets a new grace, so that
 * slurmctld is asked once in each grace. Where there is no answer, the job is taken to run for a day after it was found
 * dead, and until its time limit, as that was at its beginning, and the grace are over. A reap asks for 8 jobs at most;
 * the next reap asks for the others, which are taken to run until then. Do not hold the lock.
 */
bool hm_idle_is_job(const struct hm_config *config, const struct hm_job *job, unsigned grace_s, struct hm_idle *idle);

#endif
