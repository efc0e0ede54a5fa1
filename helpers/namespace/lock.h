/* SPDX-License-Identifier: Apache-2.0 */
/* One change of the node's namespaces at a time. */
#ifndef HM_LOCK_H
#define HM_LOCK_H

#include "../core/config.h"

/* Take <run_dir>/namespace.lock, waiting for it: whoever holds it may wipe for minutes. A dead process holds nothing,
 * and the programs that we start do not inherit it. Returns a descriptor to close, or -1. */
int hm_lock_take(const struct hm_config *config, struct hm_error *error);

#endif
