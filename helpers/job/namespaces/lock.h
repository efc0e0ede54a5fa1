/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock that is held while namespaces are made for jobs, and while a reap looks for those that nobody owns:
 * <run_dir>/root/node/fsdax.namespaces. hybridmem-namespace has a lock of its own beside it (namespace/pmem/lock.h),
 * for the time in which it changes namespaces.
 */
#ifndef HM_JOB_NAMESPACES_LOCK_H
#define HM_JOB_NAMESPACES_LOCK_H

#include <stdbool.h>

#include "core/config/config.h"

/*
 * Takes the lock. With `waits`, waits for it, at most until fsdax_wipe_limit is used up. Returns a descriptor for
 * hm_flock_close, or -1 with a text (EWOULDBLOCK: another process has it).
 */
int hm_namespacelock_take(const struct hm_config *config, bool waits, struct hm_error *error);

#endif
