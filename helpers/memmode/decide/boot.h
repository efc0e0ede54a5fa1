/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a node came back from a boot as it was asked to. Pure. */
#ifndef HM_MEMMODE_DECIDE_BOOT_H
#define HM_MEMMODE_DECIDE_BOOT_H

#include "state.h"

/* Is the node, after its boot, in the mode that was asked for? Returns 0, or -1 (EIO) with a text that names this mode
 * and what is there. */
int hm_memmode_has_come(const struct hm_memmode_resources *resources, enum hm_memmode asked, struct hm_error *error);

#endif
