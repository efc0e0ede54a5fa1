/* SPDX-License-Identifier: Apache-2.0 */
/* What the ledger says of namespaces: which must stay, and which job has those that a user keeps. */
#ifndef HM_JOB_NAMESPACES_JOBS_H
#define HM_JOB_NAMESPACES_JOBS_H

#include "job/ledger/ledger.h"

#define HM_NAMESPACE_LABELS "hybridmem:" /* the beginning of their labels */

/*
 * Lists the jobs and users whose namespaces must stay, as "7.0,8.1,u1001": jobs with their run (JOB.RESTART), and users
 * whose kept namespaces are in use. All jobs of the ledger are in it, also those that have just died: their own end
 * removes their namespaces and measures how long that takes. A job whose entry cannot be read gives "9.*,u*": its
 * namespaces of any run, and those that any user keeps. So does a job that has namespaces, and may have processes
 * (jobcgroup.h), but no entry, as when run_dir was changed; `unlisted` gets the id of such a job, or 0. The caller
 * holds the lock of lock.h. Returns malloc'd text, or NULL with the error.
 */
char *hm_namespacejobs_list(const struct hm_config *config, uint32_t *unlisted, struct hm_error *error);

/*
 * Gives the job the namespaces that its user keeps, or will keep, on this node. Only one living job of a user has them
 * at a time. The job must have an entry; the entry and `job` are marked (`is_kept`). The caller holds the lock of
 * namespaces.c. Returns 0, or -1 with a text; EBUSY: another job has them, or may have them, and the text names it.
 */
int hm_namespacejobs_claim(const struct hm_config *config, struct hm_job *job, struct hm_error *error);

#endif
