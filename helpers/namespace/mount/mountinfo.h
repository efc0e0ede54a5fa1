/* SPDX-License-Identifier: Apache-2.0 */
/* Where a device is mounted, as a /proc/PID/mountinfo has it. */
#ifndef HM_NAMESPACE_MOUNT_MOUNTINFO_H
#define HM_NAMESPACE_MOUNT_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define HM_MOUNTINFO (1 << 20) /* bytes of one, at most */

/* Has it a mount of this device? Pure. */
bool hm_mountinfo_has(const char *mountinfo, dev_t device);

/*
 * The place of the device's first mount, its escapes (\040) resolved. Returns false where there is none, or where
 * `place` (`size` bytes) has no room for it. Pure.
 */
bool hm_mountinfo_place(const char *mountinfo, dev_t device, char *place, size_t size);

/* Does the process see a mount of the device? `text` is room for its mountinfo, HM_MOUNTINFO bytes. */
bool hm_mountinfo_sees(const char *pid, dev_t device, char *text);

#endif
