/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsdax_wipe_limit: for how long prologs and epilogs wait for memory that is being wiped. What is not done by then is
 * systemd's: a unit of ours goes on, with no limit.
 */
#ifndef HM_WIPELATER_H
#define HM_WIPELATER_H

#include <limits.h>

#include "../core/config.h"

#define HM_WIPE_NO_LIMIT UINT_MAX
#define HM_WIPE_UNIT "hybridmem-wipe.service"

/* Seconds that are left of the limit: one run of hybridmem-job has it once, from the first call on. HM_WIPE_NO_LIMIT
 * where the configuration has none. */
unsigned hm_wipe_left(const struct hm_config *config);

/* Have systemd start the unit, without waiting for it; where it is at work already, nothing happens. Returns 0 or -1.
 */
int hm_wipe_hand_over(struct hm_error *error);

#endif
