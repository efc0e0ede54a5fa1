/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folders at which the tasks of jobs see their file systems (job/ledger/dax.h): makes them, and removes those of
 * jobs that have ended. Each job has a folder of its own below run_dir's folder `fsdax`, through which all users pass.
 * Through a job's folder, only its user passes. Who passes through a folder can hold up whoever makes, renames or
 * removes something in it, and whoever mounts on it (base/rundir.h). Removing a folder also detaches what is mounted on
 * it in all mount namespaces. Where nothing else uses that file system any more, it is unmounted in the process that
 * removed the folder. Since Linux 6.15 this process then waits, and cannot be killed, as long as a page of a DAX file
 * system is referenced: with `keep`, as long as a user wants. So a child process does all of this without a lock that
 * other jobs wait for, and is left behind if it takes long.
 *
 * A folder is renamed before it is removed, so that the job's number is free for its next run. Folders are made and
 * renamed under a lock of their own, so that none is renamed while it is being made.
 *
 * Call these without a lock. They end within some seconds. Only for programs with one thread.
 */
#ifndef HM_JOB_NAMESPACES_DAXFOLDERS_H
#define HM_JOB_NAMESPACES_DAXFOLDERS_H

#include "job/ledger/ledger.h"

/* Makes the job's folders. The job is in the ledger. Returns 0 or -1. */
int hm_daxfolders_make(const struct hm_config *config, const struct hm_job *job, struct hm_error *error);

/*
 * Removes the folders of a job that has ended, and what an earlier process had no time for. Failing to do so does no
 * harm, and is only logged: they are empty, and a later call removes them. They stay if a newer run under the same
 * number has begun: it may have mounts on them by now. Keeps errno.
 */
void hm_daxfolders_remove(const struct hm_config *config, const struct hm_job *job);

/* Removes what an earlier process had no time for, and, with `ends_orphaned`, the folders of all jobs that are not in
 * the ledger. Keeps errno. */
void hm_daxfolders_tidy(const struct hm_config *config, bool ends_orphaned);

#endif
