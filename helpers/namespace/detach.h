/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts that outlive their job in a mount namespace of its own, where a process that got away keeps them. */
#ifndef HM_DETACH_H
#define HM_DETACH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The place of the n-th mount (0, 1, ...) of the device in a /proc/PID/mountinfo, its escapes (\040) resolved. Returns
 * false where there is none, or where `place` (`size` bytes) has no room for it. Pure.
 */
bool hm_mountinfo_place(const char *mountinfo, dev_t device, int n, char *place, size_t size);

/*
 * Detach (MNT_DETACH) the device's mounts in all mount namespaces but the host's: what is mounted there an
 * administrator may look at. Files that are open keep the device in use. Returns the number of namespaces that it was
 * detached in; `names` (`size` bytes) gets a process of each, as hm_holders_name has them.
 */
int hm_detach(const char *device, char *names, size_t size);

#endif
