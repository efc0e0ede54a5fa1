/* SPDX-License-Identifier: Apache-2.0 */
/* Runs hybridmem-namespace create for a job: builds its arguments and reads its answer. */
#ifndef HM_JOB_NAMESPACES_CREATE_H
#define HM_JOB_NAMESPACES_CREATE_H

#include "job/ledger/ledger.h"

/*
 * Makes the namespaces of the job's plan, or finds those that its user keeps. Tries once. The caller holds the lock of
 * namespaces.c. Returns 0, or -1 with a text for the user; `is_begun` is then false if nothing was left behind.
 */
int hm_namespacecreate(const struct hm_config *config, struct hm_job *job, struct hm_error *error);

#endif
