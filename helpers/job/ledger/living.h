/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells which jobs live, by their cgroups. A user can keep the kernel's lock of a cgroup's folder, and then a look at
 * it takes as long as they want. So the look comes before the ledger's lock is taken, and what it found is judged with
 * the lock, by the entry as it is then.
 */
#ifndef HM_JOB_LEDGER_LIVING_H
#define HM_JOB_LEDGER_LIVING_H

#include "ledger.h"

/* What one look at a job's cgroup found. */
struct hm_life {
    uint32_t n_steps; /* as in the entry at the time of the look, and so are the next two */
    int64_t start_ns;
    char cgroup[HM_JOB_CGROUP];
    bool is_dead; /* the job's cgroup was known, and was gone or had no processes */
};

/*
 * Looks at the job's cgroup. A failure to look, for lack of memory for example, is no death. Do not hold the ledger's
 * lock: with it nothing is looked at, and the job is not found dead.
 */
void hm_life_look(const struct hm_job *job, struct hm_life *life);
/* Reads the entry into `job`, without the lock, and looks. Without a readable entry nothing is found: all of `life` is
 * 0. */
void hm_life_read(const struct hm_config *config, uint32_t job_id, struct hm_job *job, struct hm_life *life);

/*
 * Is the job over for others: is its end noted, or is it of an earlier boot? A job whose cgroup has no process may
 * still run: an allocation between two steps, or one whose user has ended its extern step. Looks at no cgroup.
 */
bool hm_job_is_over(const struct hm_job *job);

/*
 * Does a process end the job now? One that was killed does not, though the kernel may hold it in a call: it does
 * nothing of its own any more, and what it has not done is left to others.
 */
bool hm_job_has_finisher(const struct hm_job *job);

/*
 * Does the job live: does its cgroup exist and have processes, by a look that was taken before (`life`; NULL: none
 * was)? A job that no look has found dead lives, and so does one that has begun a step or another run since the look.
 * A job without a known cgroup lives until its end is noted, by its epilog or by a reap that has found no process of
 * the job (unread.h). No job from before a boot lives after it. Looks at no cgroup.
 */
bool hm_job_is_living(const struct hm_job *job, const struct hm_life *life);

#endif
