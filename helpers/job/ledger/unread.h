/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells whether a job lives when its ledger entry cannot tell. The entry may be unreadable: torn, or of a version that
 * this one does not know. Or it has no cgroup, as no step has started or the node has cgroup v1.
 */
#ifndef HM_JOB_LEDGER_UNREAD_H
#define HM_JOB_LEDGER_UNREAD_H

#include "jobcgroup.h"
#include "ledger.h"

/*
 * May the job live? Yes, if
 *
 * - its entry was written, or first looked at by a reap, in the last `grace_s` seconds: its first step may not have
 *   started yet;
 * - below `cgroups` there are processes that may be its own (jobcgroup.h);
 * - or one of these checks cannot be made.
 *
 * It may take long: do not hold the ledger's lock.
 */
bool hm_unread_is_living(const struct hm_config *config, const char *cgroups, uint32_t job_id, unsigned grace_s);

#endif
