/* SPDX-License-Identifier: Apache-2.0 */
/* hybridmem-namespace create, for a job: what it is told, and what it says that it made. */
#ifndef HM_JOB_NAMESPACES_CREATE_H
#define HM_JOB_NAMESPACES_CREATE_H

#include "job/ledger/ledger.h"

/*
 * Make what the job's plan wants, or find what its user has kept, in one try; wants the lock of namespaces.c. Returns
 * 0, or -1 with a text for the user; `is_begun` is false then where nothing was left behind.
 */
int hm_namespacecreate(const struct hm_config *config, struct hm_job *job, struct hm_error *error);

#endif
