/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that a test makes and removes. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

static int scratch_remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

/* Remove a folder and all in it; one that is not there is fine. Returns 0 or -1. */
static inline int scratch_remove(const char *path)
{
    return nftw(path, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT ? 0 : -1;
}

#endif
