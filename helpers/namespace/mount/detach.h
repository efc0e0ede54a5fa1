/* SPDX-License-Identifier: Apache-2.0 */
/* Detaches mounts that outlive their job, in the mount namespace of a process that escaped from the job. */
#ifndef HM_NAMESPACE_MOUNT_DETACH_H
#define HM_NAMESPACE_MOUNT_DETACH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Detach (MNT_DETACH) the mounts of a block device in all mount namespaces except this program's and the host's, where
 * administrators mount. The device stays in use while files are open, and while a user namespace has the mount: the
 * kernel does not let anybody remove a mount that it has copied into a user namespace. Ends at `end_s`
 * (CLOCK_MONOTONIC; some days ahead at most), or some two seconds later, whatever users' processes do; does nothing if
 * `end_s` is over already. Call this only for the device of a job that has ended, while nobody can give the device to
 * another job. Only for programs with one thread. Returns whether a mount was detached. `names` (`size` bytes) names a
 * process of each mount namespace where one was, in the form of hm_holders_find.
 */
bool hm_detach(const char *device, double end_s, char *names, size_t size);

#endif
