/* SPDX-License-Identifier: Apache-2.0 */
/* Removes files in the ledger's folder, and ends monitors, that belong to no entry. */
#ifndef HM_JOB_HOOKS_ORPHANS_H
#define HM_JOB_HOOKS_ORPHANS_H

#include "core/config/config.h"

/* What cannot be removed or ended is logged, and left to the next reap. Takes the ledger's lock. */
void hm_orphans_reap(const struct hm_config *config);

#endif
