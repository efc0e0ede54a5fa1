/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the processes that keep a device in use, from /proc. */
#ifndef HM_NAMESPACE_MOUNT_HOLDERS_H
#define HM_NAMESPACE_MOUNT_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define HM_MOUNTSPACES 256 /* most that are remembered; others are looked at for each of their processes */

/* The mount namespaces that were looked at: looking at one process of each is enough. Begins as zeros. */
struct hm_mountspaces {
    ino_t inode[HM_MOUNTSPACES];
    int n;
};

/* Add the mount namespace of a process (its name in /proc). Returns false where it is known already, or the process has
 * gone. */
bool hm_mountspaces_add(struct hm_mountspaces *seen, const char *pid);

/* Add a process to a list in `out` (`size` bytes, terminated) that has `n` already. After a few, "..." stands for the
 * rest. */
void hm_holders_add(char *out, size_t size, const char *pid, int n);

/*
 * Name a few processes that have the device open or mapped, or see a mount of the block device (one for each mount
 * namespace), in `out` (`size` bytes): "12 (bash), 13 (a.out), ...". The look ends at `end_s` (CLOCK_MONOTONIC), or
 * after a minute, as users have as many open files, mappings and mount namespaces as they like, and may keep their
 * mappings from being read (base/look.h). Returns 1 where processes were found, 0 where none was, as when the kernel
 * itself holds the device or there is no such device, or -1 where none was found and not all were looked at: ETIMEDOUT,
 * or why /proc could not be read, or another errno of hm_look (base/look.h).
 */
int hm_holders_find(const char *device, double end_s, char *out, size_t size);

#endif
