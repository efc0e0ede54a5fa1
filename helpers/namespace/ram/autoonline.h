/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's policy for memory that comes, auto_online_blocks: unless it is "offline", new blocks go into a zone of
 * the kernel's choice at once, where its own pages may settle that nobody can move away again. It is set aside while a
 * device becomes memory, and put back; what a killed process left is put back by the next one, and by a reap.
 */
#ifndef HM_NAMESPACE_RAM_AUTOONLINE_H
#define HM_NAMESPACE_RAM_AUTOONLINE_H

#include "core/config/config.h"

#define HM_AUTOONLINE "/sys/devices/system/memory/auto_online_blocks"
#define HM_AUTOONLINE_KEPT "auto_online_blocks" /* in run_dir: the policy, while it is set aside */

/* Let new memory stay offline. The caller has the lock. Returns 0 (release it) or -1. */
int hm_autoonline_hold(const struct hm_config *config, struct hm_error *error);

/* The policy as it was before hold, also where that was another process. Nothing is held: nothing is done. Returns 0
 * or -1. */
int hm_autoonline_release(const struct hm_config *config, struct hm_error *error);

#endif
