/* SPDX-License-Identifier: Apache-2.0 */
/* Which jobs live: a job is told by its cgroup. */
#ifndef HM_JOB_LEDGER_LIVING_H
#define HM_JOB_LEDGER_LIVING_H

#include "ledger.h"

/* Cut a step's folder down to its job's: what is before the last "/step_". Returns 0, or -1 (EINVAL) where there is
 * none. */
int hm_cgroup_cut_to_job(char *path);

/* Cut a path in a step's folder down to that folder ("..../step_0"). Returns 0, or -1 (EINVAL) where there is none. */
int hm_cgroup_cut_to_step(char *path);

/* Has the job processes (its cgroup exists and is populated)? A job whose cgroup is not known lives while this boot
 * lasts. */
bool hm_job_is_living(const struct hm_job *job);

#endif
