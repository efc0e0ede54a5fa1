/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsdax_wipe_limit: for how long prologs and epilogs wait for memory that is being wiped. What is not done by then is
 * systemd's: a unit of ours goes on, with no limit.
 */
#ifndef HM_JOB_NAMESPACES_WIPELATER_H
#define HM_JOB_NAMESPACES_WIPELATER_H

#include <limits.h>
#include <stdint.h>

#include "core/config/config.h"

#define HM_WIPE_NO_LIMIT UINT_MAX

/* Seconds that are left of the limit: one run of hybridmem-job has it once, from the first call on. HM_WIPE_NO_LIMIT
 * where the configuration has none. */
unsigned hm_wipe_left(const struct hm_config *config);

/*
 * Have systemd go on with what the prolog or epilog of this job leaves, without waiting for it; `why` it is left goes
 * to the log. The job is out of the ledger where what it had is to go. Returns 0, or -1 with a text that has the
 * reason, too.
 */
int hm_wipe_hand_over(const struct hm_config *config, uint32_t job_id, const char *why, struct hm_error *error);

#endif
