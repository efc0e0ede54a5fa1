/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsdax_wipe_limit: how long prologs and epilogs wait while memory is wiped. What is not done by then is completed by a
 * systemd unit of ours, without a limit.
 */
#ifndef HM_JOB_NAMESPACES_WIPELATER_H
#define HM_JOB_NAMESPACES_WIPELATER_H

#include <limits.h>
#include <stdint.h>

#include "core/config/config.h"

#define HM_WIPE_NO_LIMIT UINT_MAX

/*
 * Returns how many seconds of the limit are left. The time begins with the first call in this process.
 * HM_WIPE_NO_LIMIT: the configuration has no limit.
 */
unsigned hm_wipe_left(const struct hm_config *config);

/*
 * Starts a systemd unit that completes what the prolog or epilog of this job leaves, and does not wait for it. `why`,
 * the reason why something is left, goes to the log. If the job's own namespaces are to be removed, take the job out of
 * the ledger before this call. Returns 0, or -1 with a text that contains `why`.
 */
int hm_wipe_hand_over(const struct hm_config *config, uint32_t job_id, const char *why, struct hm_error *error);

#endif
