/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for a job's processes in the kernel's cgroups, where the ledger does not tell whether the job lives. */
#ifndef HM_JOB_LEDGER_JOBCGROUP_H
#define HM_JOB_LEDGER_JOBCGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger.h"

#define HM_CGROUPS "/sys/fs/cgroup"

/*
 * Is there a folder with processes that may be the job's? Yes, if
 *
 * - below `cgroups` there is its folder "job_ID", of either version of cgroups, with processes in it;
 * - with `counts_unnamed`, below `cgroups` there is a step's folder with processes that is not in a "job_NUMBER"
 * folder: Slurm 26.05 may name jobs in another way, and then any job's step may be the job's;
 * - or this cannot be found out. A folder that is gone when the walk comes to it is no error.
 *
 * Folders outside the job's folder that do not belong to the caller (root), and what is in them, do not count: users
 * may make folders with such names.
 *
 * It may take long: do not hold the ledger's lock.
 */
bool hm_jobcgroup_has(const char *cgroups, uint32_t job_id, bool counts_unnamed);

/* Has the folder processes? A folder that is gone has none; one whose state cannot be read may have some. */
bool hm_jobcgroup_has_processes(const char *folder);

/* Folders of jobs. The caller frees `path`. */
struct hm_job_folders {
    char (*path)[HM_JOB_CGROUP];
    size_t n;
};

/*
 * Is there below `cgroups` a folder "job_NUMBER" with processes, of a job other than `job_id` that has no file of that
 * number in the folder `entries`? Such a job began while hybridmem was switched off, or before it was installed.
 * Folders that do not belong to the caller do not count, nor those that go meanwhile. `unnamed`, which is empty, gets
 * the folders above those of steps whose names are no "job_NUMBER", as with Slurm 26.05. Where they cannot be kept, the
 * answer is yes. It may take long, as above.
 */
bool hm_jobcgroup_has_stranger(const char *cgroups, const char *entries, uint32_t job_id,
                               struct hm_job_folders *unnamed);

#endif
