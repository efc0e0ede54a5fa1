/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders below <run_dir>/root, where root works. Users pass through run_dir and cannot list it, but they reach its
 * lock in the kernel, and those of the folders in it, for moments: by chmod(2), by a mount on such a folder in a
 * namespace of their own, and by a look for a name that is not there. A user whose threads get no time on a CPU can
 * make such a moment last, and whoever makes, renames or removes something in that folder waits meanwhile. `root` is
 * root's alone (0700): the way of users ends there, before the locks of what is in it. They still reach the lock of
 * `root` itself. So nothing is made in it but these few folders, once for each boot.
 */
#ifndef HM_BASE_RUNDIR_H
#define HM_BASE_RUNDIR_H

#include "error.h"

#define HM_RUNDIR_ROOT "root"

/* Opens run_dir, and makes it as needed. Returns a descriptor, or -1 as hm_folder_open_own (files.h). */
int hm_rundir_open(const char *run_dir, struct hm_error *error);
/* Opens <run_dir>/root, of which `run` is the opened run_dir. The same. */
int hm_rundir_open_root(int run, struct hm_error *error);

#endif
