/* SPDX-License-Identifier: Apache-2.0 */
/* Tells which jobs live, by their cgroups. */
#ifndef HM_JOB_LEDGER_LIVING_H
#define HM_JOB_LEDGER_LIVING_H

#include "ledger.h"

/*
 * Cuts a path in a step's cgroup down to the job's cgroup: the part before the last "/step_". Returns 0, or -1 (EINVAL)
 * where the path has no step.
 */
int hm_cgroup_cut_to_job(char *path);

/*
 * Cuts a path in a step's cgroup down to the step's cgroup (".../step_0"). Returns 0, or -1 (EINVAL) where it has no
 * step.
 */
int hm_cgroup_cut_to_step(char *path);

/*
 * Does the job live: does its cgroup exist and have processes? A job without a known cgroup lives until its end is
 * noted, by its epilog or by a reap that has found no process of the job (unread.h), or until the next boot.
 */
bool hm_job_is_living(const struct hm_job *job);

#endif
