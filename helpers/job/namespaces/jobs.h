/* SPDX-License-Identifier: Apache-2.0 */
/* What the ledger says of namespaces: whose stay, and who has what a user keeps. */
#ifndef HM_JOB_NAMESPACES_JOBS_H
#define HM_JOB_NAMESPACES_JOBS_H

#include "job/ledger/ledger.h"

/*
 * "7.0,8.1,u1001": whose namespaces stay. All jobs of the ledger, also those that have just died: their own end removes
 * theirs, and measures it; and the users of those that have kept ones. One whose entry cannot be read is in it as
 * "9.*,u*": all that it has had in any run, and what any user keeps. Returns malloc'd text, or NULL with the error
 * where that is not known.
 */
char *hm_namespacejobs_list(const struct hm_config *config, struct hm_error *error);

/*
 * Give the job what its user keeps on this node, or will keep: only one of his living jobs has it at a time. Wants the
 * lock that namespaces are made under, and an entry of the job; it and `job` say so then. Returns 0, or -1 with a text
 * that names the other job.
 */
int hm_namespacejobs_claim(const struct hm_config *config, struct hm_job *job, struct hm_error *error);

#endif
