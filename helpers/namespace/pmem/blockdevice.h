/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the kernel for the size of a block device. */
#ifndef HM_NAMESPACE_PMEM_BLOCKDEVICE_H
#define HM_NAMESPACE_PMEM_BLOCKDEVICE_H

#include <stdint.h>

#include "base/error.h"

/* The size of a block device in bytes. Returns 0, or -1 with the errno of open(2) or ioctl(2). A failure may be for now
 * only (no memory, no descriptor), so a caller that acts on the size must not take it for a size of 0. */
int hm_device_size(const char *device, uint64_t *bytes, struct hm_error *error);

/* The same without an error, for callers that only show the size or make a file system of it: 0 where it is unknown. */
uint64_t hm_device_bytes(const char *device);

#endif
