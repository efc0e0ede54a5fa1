/* SPDX-License-Identifier: Apache-2.0 */
/* The lock that allows one change of the node's namespaces at a time. */
#ifndef HM_NAMESPACE_PMEM_LOCK_H
#define HM_NAMESPACE_PMEM_LOCK_H

#include <stdbool.h>

#include "core/config/config.h"

/*
 * Take <run_dir>/root/node/namespace.lock (base/rundir.h), and write this process's pid into it. The lock ends with the
 * process, and child programs do not inherit it. Returns a descriptor for hm_flock_close, or -1: EBUSY where another
 * process has kept it for `patience_s`, with its pid in the text. `since_ns`, 0 at first, gets the time of the call,
 * from which all patience counts (base/patience.h).
 */
int hm_lock_take(const struct hm_config *config, uint64_t *since_ns, unsigned patience_s, struct hm_error *error);

/* Release the lock for a moment, and take it again. `since_ns` is kept from call to call, as in hm_patience_pause.
 * Returns false where the patience is over, or the lock cannot be taken; it is then not held. */
bool hm_lock_pause(int lock, uint64_t *since_ns, unsigned patience_s);

#endif
