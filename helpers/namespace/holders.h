/* SPDX-License-Identifier: Apache-2.0 */
/* Who keeps a block device from being taken away, by what /proc tells. */
#ifndef HM_HOLDERS_H
#define HM_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Has a /proc/PID/mountinfo a mount of this device? Pure. */
bool hm_mountinfo_has(const char *mountinfo, dev_t device);

/*
 * Name a few processes that have the block device open, or see a mount of it, one for each mount namespace: "12 (bash),
 * 13 (a.out), ...". Returns `out` (`size` bytes); "" where none is found: the kernel itself may hold it.
 */
char *hm_holders_name(const char *device, char *out, size_t size);

#endif
