/* SPDX-License-Identifier: Apache-2.0 */
/* The table of file systems: how mkfs makes each. */
#include <stddef.h>
#include <string.h>

#include "mkfsparts.h"

#define N_ROWS (int)(sizeof(rows) / sizeof(rows[0]))

/*
 * DAX needs blocks as large as pages. On XFS before Linux 6.2 it also needs shared extents (reflink) to be off. Nothing
 * need be discarded: persistent memory gains nothing by it, and where hybridmem has wiped, it is all zeros already. A
 * journal only helps a file system that outlives a crash, which only kept ones do.
 */
static const struct hm_filesystem rows[] = {
    {"ext4",
     "e2fsprogs",
     {"/usr/sbin/mkfs.ext4", "/sbin/mkfs.ext4"},
     {"mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard"},
     {"-O", "^has_journal"},
     "",
     NULL,
     ""},
    {"xfs",
     "xfsprogs",
     {"/usr/sbin/mkfs.xfs", "/sbin/mkfs.xfs"},
     {"mkfs.xfs", "-q", "-f", "-K", "-m", "reflink=0"},
     {NULL},
     "size=",
     "-d",
     "size="},
};

const struct hm_filesystem *hm_mkfs_at(int n)
{
    return n >= 0 && n < N_ROWS ? &rows[n] : NULL;
}

const struct hm_filesystem *hm_mkfs_find(const char *name)
{
    for (int i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

const char *hm_mkfs_name(const struct hm_filesystem *filesystem)
{
    return filesystem->name;
}
