/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the node's namespaces: whose data is on the persistent memory? */
#ifndef HM_MEMMODE_COMMANDS_SPACES_H
#define HM_MEMMODE_COMMANDS_SPACES_H

#include "memmode/decide/state.h"

/* Look at all namespaces, by libndctl. Returns 0 or -1. */
int hm_spaces_read(struct hm_memmode_spaces *spaces, struct hm_error *error);

#endif
