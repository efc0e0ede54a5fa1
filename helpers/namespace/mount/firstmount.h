/* SPDX-License-Identifier: Apache-2.0 */
/* The first mount of a new file system: it shows that DAX works, and gives the root folder to its user. And a look
 * whether one that was kept can still be mounted. */
#ifndef HM_NAMESPACE_MOUNT_FIRSTMOUNT_H
#define HM_NAMESPACE_MOUNT_FIRSTMOUNT_H

#include <sys/types.h>

#include "base/error.h"

/*
 * Mount the device with DAX in a mount namespace of our own, make `uid` the owner of the root folder, for himself only
 * (0700), and unmount. The calling process, which has no threads, stays in that namespace: nothing of it is ever seen
 * elsewhere. `place` is any folder; what is in it is hidden from us meanwhile. Returns 0 or -1.
 */
int hm_first_mount(const char *device, const char *filesystem, const char *place, uid_t uid, struct hm_error *error);

/* Mount it so and unmount it again, with all that is in it as it is. Returns 0 or -1. */
int hm_look_mount(const char *device, const char *filesystem, const char *place, struct hm_error *error);

#endif
