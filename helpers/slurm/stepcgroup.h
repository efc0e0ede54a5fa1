/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's names of cgroups: that of a step is below its job's, and named step_ID. */
#ifndef HM_SLURM_STEPCGROUP_H
#define HM_SLURM_STEPCGROUP_H

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

#endif
