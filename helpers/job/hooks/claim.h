/* SPDX-License-Identifier: Apache-2.0 */
/* The entry of a job that is being finished: a process claims it, and gives it up when all is done. */
#ifndef HM_JOB_HOOKS_CLAIM_H
#define HM_JOB_HOOKS_CLAIM_H

#include "job/ledger/ledger.h"

/* Who takes an entry. */
struct hm_claimant {
    bool is_own_epilog;
    const int *exit_status;      /* of wait(2), as Slurm gives it; NULL: not known here */
    const struct hm_job *judged; /* the entry of a job that was found dead; NULL: nobody has judged the job */
};

/* What a process finds when it takes an entry. */
struct hm_found {
    /* memory of the job may be left for a later reap: the entry was unreadable and was removed, or the namespaces were
     * not removed */
    bool is_left;
    bool is_again;     /* an earlier process took it, and may have written the record */
    uint32_t n_steps;  /* steps of the job by then */
    uint64_t peak;     /* largest memory.peak of the job's cgroup that was read, in bytes */
    bool has_no_group; /* the job's resctrl group was removed since */
};

/*
 * Takes the entry for this process, notes the job's end and its exit status, and takes back what was changed on the
 * node for the job. A job that was judged dead is taken only if the entry still is of that run, and no step of it has
 * begun since. Returns 0; 1 where there is nothing to do, as there is no such entry, or another process has it (an
 * epilog then notes that it has come, and the exit status); or -1, having logged why. Where the lock could not be had,
 * an epilog leaves what it knows for others (job/ledger/epilog.h).
 */
int hm_claim_take(const struct hm_config *config, uint32_t job_id, const struct hm_claimant *claimant,
                  struct hm_job *job, struct hm_found *found);

/*
 * Takes the figures that the job's migrators left. What a late step has put into the entry since the claim is taken
 * over for the record. Returns true where the entry still is the one that was claimed. Otherwise `why` says why the
 * monitor's samples cannot be used: the entry is of another run, or could not be locked.
 */
bool hm_claim_take_figures(const struct hm_config *config, struct hm_job *job, struct hm_error *why);

/*
 * Gives the entry up. Removes it; but where a step has begun since the claim, and no epilog of the job has come, gives
 * it back to the job (revive.h). If the record still has to be written (`is_kept`), or a setting of the node to be
 * restored, the entry stays, free for the next reap. Returns 0, 1 where the entry stays, or -1.
 */
int hm_claim_let_go(const struct hm_config *config, struct hm_job *job, bool is_kept, const struct hm_found *found);

/*
 * Takes back what was changed on the node for the job; what fails is a warning in `job`. The caller holds the lock, and
 * writes the entry afterwards.
 */
void hm_claim_undo(const struct hm_config *config, struct hm_job *job);

#endif
