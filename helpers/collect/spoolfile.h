/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the files of the spool folder, one for each job that ended. */
#ifndef HM_COLLECT_SPOOLFILE_H
#define HM_COLLECT_SPOOLFILE_H

#include "spoolentry.h"

#define HM_SPOOL_ROOM 20 /* 1/20 of the file system's space, and of its files, stays free */

/*
 * Write the entry to <folder>/JOBID.END.json (mode 0600), whole or not at all: it is written under a name that nobody
 * reads, then renamed, and is on the disk when this returns. The folder must exist, belong to this process's user and
 * be writable by nobody else (EPERM). Returns 0, or -1 with errno (ENOSPC: less than a twentieth of the file system's
 * space or of its files is free, or there is no room for all of the text). Where only the folder's fsync failed, the
 * file is there nevertheless.
 */
int hm_spool_file_write(const char *folder, const struct hm_spool_entry *entry, struct hm_error *error);

#endif
