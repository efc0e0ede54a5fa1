/* SPDX-License-Identifier: Apache-2.0 */
/* Opening files that root believes. */
#ifndef HM_BASE_PATH_H
#define HM_BASE_PATH_H

#include <sys/types.h>

#include "error.h"

/*
 * Open `path` for reading, relative to the folder `base` ("/" is taken as `base`), so that nobody but root and `owner`
 * can have chosen what is in it: every folder below `base` and the file belong to root or `owner` and are not writable
 * by group or others (folders with the sticky bit may be), no part is a symbolic link, "." or "..", and the file is a
 * regular one. `base` itself is not checked. Returns a descriptor that the caller closes, or -1: EPERM where the check
 * fails, else the errno of open (ENOENT); the text names the part that is wrong and what it should be.
 */
int hm_path_open_below(int base, const char *path, uid_t owner, struct hm_error *error);

/*
 * Open the file for reading: as root (euid 0) by the check above from "/" on ("/" included) with root as the owner,
 * which wants an absolute path; as anybody else plainly, still only a regular file. Returns a descriptor that the
 * caller closes, or -1.
 */
int hm_path_open(const char *path, struct hm_error *error);

#endif
