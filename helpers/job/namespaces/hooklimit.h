/* SPDX-License-Identifier: Apache-2.0 */
/* How long a prolog or epilog waits for its hybridmem-job. */
#ifndef HM_JOB_NAMESPACES_HOOKLIMIT_H
#define HM_JOB_NAMESPACES_HOOKLIMIT_H

#include "core/config/config.h"

/*
 * Returns seconds. `regions` is HM_REGIONS_FOLDER. hybridmem-job ends itself after 60 s, but does not count the time in
 * which persistent memory is made, brought online or wiped: on a node that has some, it may take longer than that by
 * fsdax_wipe_limit, or a day where that is not set (Slurm's PrologEpilogTimeout is the limit then).
 */
unsigned hm_hook_limit_s(const struct hm_config *config, const char *regions);

#endif
