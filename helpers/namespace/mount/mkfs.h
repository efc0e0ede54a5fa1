/* SPDX-License-Identifier: Apache-2.0 */
/* The file systems that can be mounted with DAX, and making one. */
#ifndef HM_NAMESPACE_MOUNT_MKFS_H
#define HM_NAMESPACE_MOUNT_MKFS_H

#include <stdint.h>

#include "base/error.h"

struct hm_filesystem;

/* By name ("ext4", "xfs"), or NULL. */
const struct hm_filesystem *hm_mkfs_find(const char *name);
/* The n-th, the default first, or NULL behind the last. */
const struct hm_filesystem *hm_mkfs_at(int n);
const char *hm_mkfs_name(const struct hm_filesystem *filesystem);

/* Find the program. Returns its path, or NULL with a text that names the package. */
const char *hm_mkfs_program(const struct hm_filesystem *filesystem, struct hm_error *error);

/*
 * Make it on a device; the program does not outlive us. `kept_bytes`: 0, or so much of the device, for a file system
 * that is to outlive crashes of the node. Returns 0, or -1 with what the program said.
 */
int hm_mkfs_run(const struct hm_filesystem *filesystem, const char *device, uint64_t kept_bytes,
                struct hm_error *error);

#endif
