/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that holds one structure. One program of hybridmem's maps and writes it, others read it, so that its figures
 * can be read at any moment, even after the writer has died. The structure begins with {uint32_t magic, version,
 * bytes}. It only grows: new members are added at its end. So programs of several versions can share a file: each
 * ignores the members that it does not know, and takes defaults for those that the file does not have. The version
 * changes only where this rule has to be broken.
 */
#ifndef HM_BASE_GROWN_H
#define HM_BASE_GROWN_H

#include <stddef.h>

#include "error.h"

/*
 * Create the file at `path`, for its owner alone, with the structure `fresh` of `size` bytes. Its blocks are reserved
 * at once: a store to a page without a block would be a SIGBUS when the file system is full. Returns an open
 * descriptor, to be closed by the caller, or -1 (EEXIST where there is such a file, and other errors of the file
 * system).
 */
int hm_grown_create(const char *path, const void *fresh, size_t size, struct hm_error *error);

/*
 * Read the structure into `value` (`size` bytes), which the caller has filled with defaults. Where the file is shorter,
 * the defaults of the missing members stay. `least` is the size that the structure had at the beginning of its version.
 * Returns 0, or -1 (EBADMSG: no regular file of `least` bytes or more; EIO). The text says "it" for the file:
 * the caller puts the file's name before it.
 */
int hm_grown_read(int fd, void *value, size_t size, size_t least, struct hm_error *error);

/*
 * Map `size` bytes of the file, shared. A shorter file is made longer; the new part is copied from `fresh`, a new
 * structure. `least` and the text are as in hm_grown_read. Returns the mapping, for munmap(2), or NULL with errno. The
 * caller checks what the structure says.
 */
void *hm_grown_map(int fd, const void *fresh, size_t size, size_t least, struct hm_error *error);

#endif
