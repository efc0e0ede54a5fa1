/* SPDX-License-Identifier: Apache-2.0 */
/* Where a device is mounted, as a /proc/PID/mountinfo tells it; libmount reads that file. */
#ifndef HM_NAMESPACE_MOUNT_MOUNTINFO_H
#define HM_NAMESPACE_MOUNT_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Find the place of the device's first mount in the mountinfo at `path`; `place` (`size` bytes) gets it, without
 * escapes. Returns 1, 0 where the device is mounted nowhere, or -1 where the file cannot be read or the place is
 * longer.
 */
int hm_mountinfo_place(const char *path, dev_t device, char *place, size_t size);

/* Does the process see a mount of the device? */
bool hm_mountinfo_sees(const char *pid, dev_t device);

#endif
