/* SPDX-License-Identifier: Apache-2.0 */
/* A file of the spool folder. */
#ifndef HM_COLLECT_SPOOLFILE_H
#define HM_COLLECT_SPOOLFILE_H

#include "spoolentry.h"

/*
 * Write the entry to <folder>/JOBID.END.json (0600), whole or not at all: under another name that nobody reads, then
 * renamed, on the disk when this returns. The folder must belong to this process's user and be writable by nobody else;
 * it is not made. Returns 0 or -1; where only the disk did not take it, the entry may be there nevertheless.
 */
int hm_spool_file_write(const char *folder, const struct hm_spool_entry *entry, struct hm_error *error);

#endif
