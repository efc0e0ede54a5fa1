/* SPDX-License-Identifier: Apache-2.0 */
/* The first mount of a new file system, which checks that DAX works and gives the root folder to its user. Also a trial
 * mount of a file system that was kept. */
#ifndef HM_NAMESPACE_MOUNT_FIRSTMOUNT_H
#define HM_NAMESPACE_MOUNT_FIRSTMOUNT_H

#include <sys/types.h>

#include "base/error.h"

/*
 * Mount the device with DAX in a new mount namespace, make `uid` the owner of the root folder, with access for the
 * owner only (0700), and unmount. The calling process, which must have no threads, stays in that mount namespace, so
 * the mount is never seen elsewhere. `place` is any folder; the mount hides its content from this process meanwhile.
 * Returns 0 or -1.
 */
int hm_first_mount(const char *device, const char *filesystem, const char *place, uid_t uid, struct hm_error *error);

/* Mount the device as hm_first_mount does, and unmount it. Its files stay as they are. Returns 0 or -1. */
int hm_look_mount(const char *device, const char *filesystem, const char *place, struct hm_error *error);

#endif
