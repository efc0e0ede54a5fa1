/* SPDX-License-Identifier: Apache-2.0 */
/* Who keeps a device from being taken away, by what /proc tells. */
#ifndef HM_HOLDERS_H
#define HM_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Has a /proc/PID/mountinfo a mount of this device? Pure. */
bool hm_mountinfo_has(const char *mountinfo, dev_t device);

/*
 * Name a few processes that have the device open or mapped, or see a mount of the block device, one for each mount
 * namespace: "12 (bash), 13 (a.out), ...". Returns `out` (`size` bytes); "" where none is found: the kernel itself may
 * hold it.
 */
char *hm_holders_name(const char *device, char *out, size_t size);

#endif
