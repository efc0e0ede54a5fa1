/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts that outlive their job, in a mount namespace that a process which got away from it keeps. */
#ifndef HM_NAMESPACE_MOUNT_DETACH_H
#define HM_NAMESPACE_MOUNT_DETACH_H

#include <stddef.h>

/*
 * Detach (MNT_DETACH) the mounts of a block device in all mount namespaces but this program's and the host's: what is
 * mounted there is an administrator's. Files that are open keep the device in use, and so does a user namespace: the
 * kernel has locked the mounts that were brought into it. Takes ten seconds at most. Only for the device of a job that
 * has ended, while nobody can give it to another. Returns the number of namespaces that it was detached in; `names`
 * (`size` bytes) gets a process of each, as hm_holders_name has them.
 */
int hm_detach(const char *device, char *names, size_t size);

#endif
