/* SPDX-License-Identifier: Apache-2.0 */
/* One change of the node's namespaces at a time. */
#ifndef HM_NAMESPACE_PMEM_LOCK_H
#define HM_NAMESPACE_PMEM_LOCK_H

#include <stdbool.h>

#include "core/config/config.h"

/*
 * Take <run_dir>/namespace.lock, and write our pid into it. A dead process holds nothing, and the programs that we
 * start do not inherit it. Returns a descriptor to close, or -1: EBUSY where another process has kept it for
 * `patience_s`, with its pid in the text. `pauses`, 0 at first, counts what of the patience is used.
 */
int hm_lock_take(const struct hm_config *config, unsigned *pauses, unsigned patience_s, struct hm_error *error);

/*
 * Let others work for a moment, and take the lock again. `pauses` counts on over the calls, as hm_patience_pause's.
 * Returns false where the patience is over: the lock is not held then.
 */
bool hm_lock_pause(int lock, unsigned *pauses, unsigned patience_s);

#endif
