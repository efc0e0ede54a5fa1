/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System settings that are changed for a job's plan: interleave weights, and the free memory that the kernel keeps
 * back. Each change is a row {path, before, after} in the job's ledger entry, written there before the setting is
 * touched. A setting has two rows where a job has changed it twice, as setting the second value may fail. Jobs that
 * need the same setting share it: each new one takes over `before` of the others, and the last one writes it back,
 * unless the setting has another value than `after` by then.
 */
#ifndef HM_JOB_NODE_CHANGES_H
#define HM_JOB_NODE_CHANGES_H

#include "job/ledger/ledger.h"

struct hm_wanted {
    char path[96];
    char value[16];
    bool only_raise; /* a larger value is good enough, too */
};

/*
 * Lists the settings that the plan needs, in the order in which they are to be written. Reads nothing but whether the
 * kernel sets the weights by itself. Returns their number, at most `room`.
 */
int hm_changes_wanted(const struct hm_plan *plan, const struct hm_tiers *tiers, struct hm_wanted *wanted, int room);

/*
 * Enters the changes in the job's entry, writes the entry, then makes the changes. The caller holds the ledger's lock.
 * Returns 0, or -1 with a text: if a change could not be entered, or the entry could not be written, none was made; if
 * making a change fails, those before it stay, and all are in the entry.
 */
int hm_changes_apply(const struct hm_config *config, struct hm_job *job, const struct hm_wanted *wanted, int count,
                     struct hm_error *error);

/*
 * Undoes the job's changes, and removes them from the entry's list. A setting that another job of the ledger needs gets
 * that job's value instead of the former one. A change that could not be undone stays in the list. The caller holds the
 * lock, and writes the entry afterwards. Can be repeated after a crash at any point. Returns 0, or -1 with the text of
 * the last failure.
 */
int hm_changes_undo(const struct hm_config *config, struct hm_job *job, struct hm_error *error);

#endif
