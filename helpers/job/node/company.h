/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells whether a job shares its node. If it never did, counters of the whole node count only this job. The functions
 * take what a look has found before the ledger's lock was taken (`lives`, ledger/living.h).
 */
#ifndef HM_JOB_NODE_COMPANY_H
#define HM_JOB_NODE_COMPANY_H

#include "job/ledger/living.h"

/*
 * To be called when a job comes to the node: if other jobs of the ledger live, marks this job and them (`had_company`).
 * The others' entries are written; the caller writes the job's own. An entry that cannot be read counts as a living
 * job. The caller holds the lock. Returns 0, or -1 if the ledger could not be listed or an entry could not be written;
 * the job is marked then, too, as it may have had company.
 */
int hm_company_note(const struct hm_config *config, const struct hm_lives *lives, struct hm_job *job,
                    struct hm_error *error);

/*
 * Is the job alone on the node: its cores are all of `all_cores`, and no other job of the ledger lives? An entry that
 * cannot be read counts as a living job. The caller holds the lock.
 */
bool hm_company_is_alone(const struct hm_config *config, const struct hm_lives *lives, const struct hm_job *job,
                         const struct hm_set *all_cores);

#endif
