/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes the folders at which the tasks of ended jobs saw their file systems (job/ledger/dax.h makes them).
 *
 * Removing a folder detaches what is mounted on it in all mount namespaces. Where nothing else uses that file system
 * any more, it is unmounted in the process that removed the folder. Since Linux 6.15 that waits, and cannot be killed,
 * as long as a page of a DAX file system is referenced: with `keep`, as long as a user wants. So under the ledger's
 * lock a folder is only renamed, which detaches nothing. Afterwards a child process removes it, and is left behind if
 * that takes long.
 */
#ifndef HM_JOB_NAMESPACES_DAXFOLDERS_H
#define HM_JOB_NAMESPACES_DAXFOLDERS_H

#include "job/ledger/ledger.h"

/*
 * Removes the folders of a job that has ended. Failing to do so does no harm, and is only logged: they are empty, and a
 * later call removes them. They stay if a newer run under the same number has begun: it may have mounts on them by now.
 * Takes the ledger's lock for a moment. Ends within some seconds. Only for programs with one thread.
 */
void hm_daxfolders_remove(const struct hm_config *config, const struct hm_job *job);

/* Renames the folders of all jobs that are not in the ledger, for hm_daxfolders_remove_ended. Takes the ledger's lock
 * for a moment. */
void hm_daxfolders_end_orphaned(const struct hm_config *config);

/* Removes what was renamed, also by an earlier process that had no time for more. Call it without a lock. Ends within
 * some seconds, and keeps errno. Only for programs with one thread. */
void hm_daxfolders_remove_ended(const struct hm_config *config);

#endif
