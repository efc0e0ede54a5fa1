/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a job ever shared its node: what is counted for the node as a whole is the job's only where it did not. */
#ifndef HM_JOB_NODE_COMPANY_H
#define HM_JOB_NODE_COMPANY_H

#include "job/ledger/ledger.h"

/*
 * A job comes to the node: mark it and each other job of the ledger that lives (`had_company`); the others' entries are
 * written, the job's own is the caller's to write. An entry that cannot be read may be of a job that lives. Wants the
 * lock. Returns 0, or -1 where the ledger could not be listed or an entry not be written; the job is marked then.
 */
int hm_company_note(const struct hm_config *config, struct hm_job *job, struct hm_error *error);

#endif
