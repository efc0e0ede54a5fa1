/* SPDX-License-Identifier: Apache-2.0 */
/* Block devices as the kernel knows them. */
#ifndef HM_NAMESPACE_PMEM_BLOCKDEVICE_H
#define HM_NAMESPACE_PMEM_BLOCKDEVICE_H

#include <stdint.h>

#include "base/error.h"

/* The size of a block device in bytes. Returns 0, or -1 with the errno of open(2) or ioctl(2): a want of memory or
 * descriptors passes, so whoever acts on the size has to know about it. */
int hm_device_size(const char *device, uint64_t *bytes, struct hm_error *error);

/* The same without an error, for callers that only show the size or make a file system of it: 0 where it is unknown. */
uint64_t hm_device_bytes(const char *device);

#endif
