/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the text that describes a tier of a replay; hybridmem-replay(1) has its form. Pure. */
#ifndef HM_MIGRATOR_REPLAY_TIERTEXT_H
#define HM_MIGRATOR_REPLAY_TIERTEXT_H

#include "replay.h"

/*
 * Adds the tier of "NAME:SIZE:READ:WRITE" after those that are there. SIZE is a percentage, or "rest" for the last
 * tier; READ and WRITE are latencies in ns. The first tier's latency of a read becomes the unit of all. Returns 0, or
 * -1 (EINVAL).
 */
int hm_replay_tier_add(struct hm_replay_options *options, const char *text, struct hm_error *error);
/* Are the tiers that were added complete: two or more, the last with the rest? Returns 0, or -1 (EINVAL). */
int hm_replay_tiers_check(const struct hm_replay_options *options, struct hm_error *error);

#endif
