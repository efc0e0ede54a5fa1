/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files that root has to trust, and checks every folder on their path. */
#ifndef HM_BASE_PATH_H
#define HM_BASE_PATH_H

#include <sys/types.h>

#include "error.h"

/*
 * Open `path` for reading, relative to the folder `base` (a leading "/" means `base`), and make sure that nobody but
 * root and `owner` can have chosen what is in it. Every folder below `base` and the file itself must belong to root or
 * `owner`, and must not be writable by group or others (folders with the sticky bit may be). No part may be a symbolic
 * link, "." or "..", and the file must be a regular one. `base` itself is not checked. Returns a descriptor that the
 * caller closes, or -1: EPERM where a check fails, ENOTDIR where a part before the last is not a folder, ENAMETOOLONG
 * where the path or a name in it is too long, or the errno of open (ENOENT). The text names the part that is wrong and
 * what it should be.
 */
int hm_path_open_below(int base, const char *path, uid_t owner, struct hm_error *error);

/*
 * Open a regular file for reading. Where the caller is root (euid 0), `path` must be absolute, and every part of it is
 * checked as by hm_path_open_below, "/" included, with root as the owner. Other users just open it. Returns a
 * descriptor that the caller closes, or -1.
 */
int hm_path_open(const char *path, struct hm_error *error);

#endif
