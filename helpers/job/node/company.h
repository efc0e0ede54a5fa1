/* SPDX-License-Identifier: Apache-2.0 */
/* Notes whether a job ever shared its node: if it did not, counters of the whole node count only this job. */
#ifndef HM_JOB_NODE_COMPANY_H
#define HM_JOB_NODE_COMPANY_H

#include "job/ledger/ledger.h"

/*
 * To be called when a job comes to the node: if other jobs of the ledger live, marks this job and them (`had_company`).
 * The others' entries are written; the caller writes the job's own. An entry that cannot be read counts as a living
 * job. The caller holds the lock. Returns 0, or -1 if the ledger could not be listed or an entry could not be written;
 * the job is marked then, too, as it may have had company.
 */
int hm_company_note(const struct hm_config *config, struct hm_job *job, struct hm_error *error);

#endif
