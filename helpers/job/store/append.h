/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders and files that programs with privilege write: opened without following links, checked after opening, made
 * with explicit modes and owners.
 */
#ifndef HM_JOB_STORE_APPEND_H
#define HM_JOB_STORE_APPEND_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct hm_rights {
    mode_t mode;
    uid_t uid;
    gid_t gid;
};

/*
 * Open the folder `name` in `parent` (AT_FDCWD for a path), making it with `rights` where it is not there and `rights`
 * is not NULL. It must be a real folder that belongs to rights->uid (to this process's user without `rights`) and that
 * nobody else may write. Returns a descriptor or -1.
 */
int hm_folder_open(int parent, const char *name, const struct hm_rights *rights, struct hm_error *error);

/*
 * Append `line` and a newline to the file `name` in the folder, made with `rights` where it is not there: one write
 * under a lock, on the disk when this returns. A write that failed or was cut short is taken back. Waits at most 5 s
 * for the lock. Returns 0 or -1.
 */
int hm_line_append(int folder, const char *name, const struct hm_rights *rights, const char *line,
                   struct hm_error *error);

#endif
