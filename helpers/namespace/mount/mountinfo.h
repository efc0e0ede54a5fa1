/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where a device is mounted in a /proc/PID/mountinfo. The file is read without libmount: for a mount whose source
 * is /dev/root, libmount reads /proc/cmdline and libblkid's configuration and cache. In a user's mount namespace, these
 * are any files that the user likes.
 */
#ifndef HM_NAMESPACE_MOUNT_MOUNTINFO_H
#define HM_NAMESPACE_MOUNT_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Find where the device is mounted first, in the mountinfo file at `path`. `place` (`size` bytes) gets the path,
 * without escapes. Returns 1, 0 where the device is mounted nowhere, or -1 where the file cannot be read or the path is
 * too long.
 */
int hm_mountinfo_place(const char *path, dev_t device, char *place, size_t size);

/* Does the process see a mount of the device? */
bool hm_mountinfo_sees(const char *pid, dev_t device);

#endif
