/* SPDX-License-Identifier: Apache-2.0 */
/* The file systems that can be mounted with DAX, and making one of them. */
#ifndef HM_NAMESPACE_MOUNT_MKFS_H
#define HM_NAMESPACE_MOUNT_MKFS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct hm_filesystem; /* how mkfs makes a file system */

/* Find a file system by its name ("ext4", "xfs"), or NULL. */
const struct hm_filesystem *hm_mkfs_find(const char *name);
/* The n-th file system, the default first; NULL past the last. */
const struct hm_filesystem *hm_mkfs_at(int n);
const char *hm_mkfs_name(const struct hm_filesystem *filesystem);

/* Find the file system's mkfs program. Returns its path, or NULL with a text that names the package. */
const char *hm_mkfs_program(const struct hm_filesystem *filesystem, struct hm_error *error);

/*
 * Make the file system on the first `bytes` of a device. `is_kept`: it has to survive crashes of the node. The mkfs
 * program is ended when this process ends, and after a minute: it looks at the folders of all mounts, and a user's FUSE
 * may make it wait. Returns 0, or -1 with a text, which has the first line of the program's errors where it failed.
 */
int hm_mkfs_run(const struct hm_filesystem *filesystem, const char *device, uint64_t bytes, bool is_kept,
                struct hm_error *error);

#endif
