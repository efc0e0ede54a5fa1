/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folders of <run_dir>/root, in which root works. Users pass through run_dir and cannot list it, but they reach its
 * lock in the kernel, and those of the folders in it, for moments: by chmod(2), by a mount on such a folder in a
 * namespace of their own, and by a look for a name that is not there. A user whose threads get no time on a CPU can
 * make such a moment last, and whoever makes, renames or removes something in that folder waits meanwhile. `root` is
 * root's alone (0700): the way of users ends there, before the locks of what is in it. They still reach the lock of
 * `root` itself. So nothing is made in it but two folders, once for each boot: `jobs`, the ledger's
 * (job/ledger/place.h), and `node`, for all else.
 */
#ifndef HM_BASE_RUNDIR_H
#define HM_BASE_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"

#define HM_RUNDIR_ROOT "root"
#define HM_RUNDIR_NODE HM_RUNDIR_ROOT "/node" /* below run_dir */

/* A file or folder that is moved; a row without a name ends a list. */
struct hm_rundir_old {
    const char *path; /* where it was, below run_dir */
    const char *name; /* in <run_dir>/root/node */
};

/* These open a folder, and make it and those above as needed. They return a descriptor that the caller closes, or -1 as
 * hm_folder_open_own (files.h). */
/* run_dir */
int hm_rundir_open(const char *run_dir, struct hm_error *error);
/* <run_dir>/root. `run` is the opened run_dir. */
int hm_rundir_open_root(int run, struct hm_error *error);
/*
 * <run_dir>/root/node. `old` lists what earlier versions kept elsewhere in run_dir for the caller; NULL: nothing. It is
 * moved to the folder. The last row is a lock, which is moved last, and made where it is missing. So once it is in the
 * folder, the others have been moved, and nobody looks elsewhere again. A lock that is moved stays held by its holder.
 */
int hm_rundir_open_node(const char *run_dir, const struct hm_rundir_old *old, struct hm_error *error);

/* Opens the lock `name` in the folder `node`, and closes `node`. Where `node` is -1, the folder could not be opened,
 * and `error` tells that already. Returns a descriptor (flock.h), or -1. `run_dir` is for the error alone. */
int hm_rundir_open_lock(int node, const char *run_dir, const char *name, struct hm_error *error);

/* Is there a file with this name in the folder `node`? */
bool hm_rundir_has(int node, const char *name);

/* Writes the path of a file in <run_dir>/root/node, or with NULL that of the folder, into `out`, and returns `out`. For
 * callers that cannot work by descriptors. HM_RUNDIR_NODE_PATH bytes are enough besides those of run_dir. */
#define HM_RUNDIR_NODE_PATH 64
char *hm_rundir_node_path(const char *run_dir, const char *name, char *out, size_t size);

#endif
