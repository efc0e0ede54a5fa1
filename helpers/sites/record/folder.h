/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of a recording. The recorder holds a lock of it while it lives, so that a later one can tell what one that
 * was killed has left, and removes it.
 */
#ifndef HM_SITES_RECORD_FOLDER_H
#define HM_SITES_RECORD_FOLDER_H

#include "base/error.h"
#include "table.h"

/* Makes a folder in /dev/shm, or where that cannot be in TMPDIR or /tmp, and removes there what is left of this user's
 * recordings that nobody holds. Returns a file descriptor that holds it, for hm_folder_remove, or -1 with a text. */
int hm_folder_make(char folder[HM_SITES_PATH], struct hm_error *error);
/* Removes the folder and its files, and closes the descriptor. */
void hm_folder_remove(const char *folder, int fd);

#endif
