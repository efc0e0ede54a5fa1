/* SPDX-License-Identifier: Apache-2.0 */
/* What the prolog provides for a job that is in the ledger: DAX file systems, and slow memory brought online. */
#ifndef HM_JOB_HOOKS_PROVIDE_H
#define HM_JOB_HOOKS_PROVIDE_H

#include <stdint.h>

#include "base/error.h"
#include "core/config/config.h"

/*
 * Makes the DAX file systems of a job that hm_begin_job has entered, if it wants some. Brings slow memory online, if
 * the job wants that and the configuration allows it. If something cannot be provided, the reason goes into the entry:
 * as a refusal, with which the tasks fail, or as a warning. The call may wait until memory of other jobs is wiped. If
 * the job ends meanwhile, its file systems are removed again. Returns 0, or -1 with a text.
 */
int hm_provide_memory(const struct hm_config *config, uint32_t job_id, struct hm_error *error);

#endif
