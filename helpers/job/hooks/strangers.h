/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs on the node that the ledger does not know: they began while hybridmem was switched off, or not installed. */
#ifndef HM_JOB_HOOKS_STRANGERS_H
#define HM_JOB_HOOKS_STRANGERS_H

#include <stdint.h>

#include "core/config/config.h"

/*
 * Is there a job other than `job_id` on the node that has no entry, by the cgroups below `cgroups`? The job itself has
 * neither an entry nor processes where its prolog asks. A job's user can make the look take long: it is given up after
 * some seconds, and the answer is then that there is one. Do not hold the lock.
 */
bool hm_strangers_are_there(const struct hm_config *config, const char *cgroups, uint32_t job_id);

#endif
