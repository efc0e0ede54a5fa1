/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs whose entry in the ledger cannot be read: it is torn, or of a version that this one does not know. */
#ifndef HM_JOB_LEDGER_UNREAD_H
#define HM_JOB_LEDGER_UNREAD_H

#include "ledger.h"

#define HM_CGROUPS "/sys/fs/cgroup"

/*
 * May the job live? Yes, where its entry was written in the last `grace_s` (no step may have started), where the folder
 * "job_ID" is below `cgroups`, and where a step's folder there is not in one that has a job's number: Slurm 26.05 may
 * name jobs in another way. Yes, too, where any of that cannot be told. Wants the ledger not locked: it may take long.
 */
bool hm_unread_is_living(const struct hm_config *config, const char *cgroups, uint32_t job_id, unsigned grace_s);

#endif
