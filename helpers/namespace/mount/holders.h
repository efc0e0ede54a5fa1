/* SPDX-License-Identifier: Apache-2.0 */
/* Who keeps a device from being taken away, by what /proc tells. */
#ifndef HM_NAMESPACE_MOUNT_HOLDERS_H
#define HM_NAMESPACE_MOUNT_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define HM_MOUNTSPACES 256

/* The mount namespaces that were looked at: one process of each is enough. Zeroed: none. */
struct hm_mountspaces {
    ino_t inode[HM_MOUNTSPACES];
    int n;
};

/* Add that of a process, as /proc names it. Returns false where it is among them already, or where the process has
 * gone. */
bool hm_mountspaces_add(struct hm_mountspaces *seen, const char *pid);

/* Write a process behind the `n` that are in `out` (`size` bytes, terminated) already; what is too much is "...". */
void hm_holders_add(char *out, size_t size, const char *pid, int n);

/*
 * Name a few processes that have the device open or mapped, or see a mount of the block device, one for each mount
 * namespace: "12 (bash), 13 (a.out), ...". Returns `out` (`size` bytes); "" where none is found: the kernel itself may
 * hold it.
 */
char *hm_holders_name(const char *device, char *out, size_t size);

#endif
