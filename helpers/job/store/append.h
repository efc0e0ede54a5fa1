/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders and files of records. They are opened without following links, checked after opening, and made with explicit
 * modes and owners. In a user's folder no mount point is entered, either: the user may have mounted a file system there
 * that never answers.
 */
#ifndef HM_JOB_STORE_APPEND_H
#define HM_JOB_STORE_APPEND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

#define HM_FOLDER_NEW 0700 /* mode of a folder that was made, until it has its owner and group */

struct hm_rights {
    mode_t mode;
    uid_t uid;
    gid_t gid;
    bool is_users; /* a user can make, move and mount what is there */
};

/*
 * Opens the folder `name` in `parent` (AT_FDCWD: `name` is a path). If it does not exist and `rights` is not NULL, it
 * is made. It must be a real folder that belongs to rights->uid (without `rights`: to this process's user) and that
 * nobody else may write to. Returns a descriptor, or -1 with errno: EPERM where it belongs to or may be written by
 * others, EXDEV where a file system is mounted in the user's folder.
 */
int hm_folder_open(int parent, const char *name, const struct hm_rights *rights, struct hm_error *error);

/*
 * Appends `line` and a newline to the file `name` in the folder. The file is made with `rights` if it does not exist.
 * The line is written in one write under a lock, and is on the disk when this returns. A write that fails or is cut
 * short is undone. If `n_same` is not 0 and the file has a whole line that begins with the same `n_same` bytes,
 * nothing is written. Waits up to 5 s for the lock. Returns 0 or -1.
 */
int hm_line_append(int folder, const char *name, const struct hm_rights *rights, const char *line, size_t n_same,
                   struct hm_error *error);

#endif
