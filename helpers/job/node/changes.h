/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System settings that a job's plan needs changed: interleave weights, and the free memory that the kernel keeps back.
 * Each is a row {path, before, after} in the job's ledger entry, written there before the setting is touched. A setting
 * that several jobs need belongs to all of them: `before` is handed from one to the next, and comes back with the last,
 * unless somebody else changed the setting meanwhile.
 */
#ifndef HM_JOB_NODE_CHANGES_H
#define HM_JOB_NODE_CHANGES_H

#include "job/ledger/ledger.h"

struct hm_wanted {
    char path[96];
    char value[16];
    bool only_raise; /* a larger number serves as well */
};

/*
 * What the plan needs of the system, in the order in which it is written. Reads only whether the kernel sets the
 * weights by itself. Returns the count, at most `room`.
 */
int hm_changes_wanted(const struct hm_plan *plan, const struct hm_tiers *tiers, struct hm_wanted *wanted, int room);

/*
 * Enter the changes in the job's entry, write the entry, then make them. Wants the ledger's lock. Returns 0, or -1 with
 * a text where one could not be made; those made before it stay, and stay in the entry.
 */
int hm_changes_apply(const struct hm_config *config, struct hm_job *job, const struct hm_wanted *wanted, int count,
                     struct hm_error *error);

/*
 * Take back what no other job in the ledger needs, and empty the entry's list (the caller writes the entry). Wants the
 * lock. Can be repeated after a crash at any point. Returns 0, or -1 with the text of the last that failed.
 */
int hm_changes_undo(const struct hm_config *config, struct hm_job *job, struct hm_error *error);

#endif
