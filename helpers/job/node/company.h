/* SPDX-License-Identifier: Apache-2.0 */
/* Notes whether a job ever shared its node: if it did not, counters of the whole node count only this job. */
#ifndef HM_JOB_NODE_COMPANY_H
#define HM_JOB_NODE_COMPANY_H

#include "job/ledger/ledger.h"

/*
 * To be called when a job comes to the node: marks it and each living job of the ledger (`had_company`). The others'
 * entries are written; the caller writes the job's own. An entry that cannot be read counts as a living job. Wants the
 * lock. Returns 0, or -1 if the ledger could not be listed or an entry not be written; the job is marked then, too.
 */
int hm_company_note(const struct hm_config *config, struct hm_job *job, struct hm_error *error);

#endif
