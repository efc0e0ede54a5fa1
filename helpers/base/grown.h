/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are one structure of ours, which a program of ours maps and writes while others read: figures that have to
 * be there at any moment, whoever dies. The structure begins with {uint32_t magic, version, bytes} and only grows: new
 * members come at its end. So programs of several versions can use one file: of what the other has and it does not know
 * a program sees nothing, and what the other does not have is as in a new structure. The version changes only where
 * that cannot be held.
 */
#ifndef HM_BASE_GROWN_H
#define HM_BASE_GROWN_H

#include <stddef.h>

#include "error.h"

/*
 * Read the first `size` bytes of the file, or all there are, over `value`, which is as a new one; `least` is what the
 * version has had from its beginning. Returns 0, or -1 (EBADMSG: no file of at least so many bytes).
 */
int hm_grown_read(int fd, void *value, size_t size, size_t least, struct hm_error *error);

/*
 * Map `size` bytes of the file, shared. One that is shorter is made longer, with what `fresh`, a new structure, has
 * there. Returns it, for munmap(2), or NULL with errno and a text; the caller checks what is in it.
 */
void *hm_grown_map(int fd, const void *fresh, size_t size, size_t least, struct hm_error *error);

#endif
