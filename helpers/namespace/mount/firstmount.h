/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first mount of a new file system, which checks that DAX works and gives the root folder to its user. Also a trial
 * mount of a file system that was kept.
 *
 * A mount waits in the kernel until an earlier unmount of the same file system is over, and cannot be killed. Since
 * Linux 6.15 that lasts as long as a page of a DAX file system is referenced, so as long as its user wants. The unmount
 * of a trial mount may wait in the same way. So a child process mounts and unmounts, in a mount namespace of its own.
 * It has no lock of this program, and is killed and left behind when its time is over. If its mount succeeds
 * afterwards, the mount ends with the child.
 */
#ifndef HM_NAMESPACE_MOUNT_FIRSTMOUNT_H
#define HM_NAMESPACE_MOUNT_FIRSTMOUNT_H

#include <sys/types.h>

#include "base/error.h"

/* Name of the folder on which trials are mounted; it has a file to lock for each device. */
#define HM_MOUNT_TRIALS "trials"

/*
 * Mount the device with DAX, make `uid` the owner of the root folder, with access for the owner only (0700), and
 * unmount. `place` is any folder; the mount hides its content from the child process alone. Only for programs with one
 * thread. Returns 0 or -1; EBUSY: it was not done after 60 s.
 */
int hm_first_mount(const char *device, const char *filesystem, const char *place, uid_t uid, struct hm_error *error);

/* Mount the device as hm_first_mount does, and unmount it. Its files stay as they are. `place` must be a folder of
 * root's alone. The child makes the folder HM_MOUNT_TRIALS there, locks a file in it, and mounts on it. Returns 0 or
 * -1; EBUSY: an earlier unmount was not over after 10 s, or an earlier trial still waits for it. */
int hm_look_mount(const char *device, const char *filesystem, const char *place, struct hm_error *error);

#endif
