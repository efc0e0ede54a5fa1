/* SPDX-License-Identifier: Apache-2.0 */
/* Block devices as the kernel knows them. */
#ifndef HM_NAMESPACE_PMEM_BLOCKDEVICE_H
#define HM_NAMESPACE_PMEM_BLOCKDEVICE_H

#include <stdint.h>

/* The size of a block device in bytes; 0 where it is unknown. */
uint64_t hm_device_bytes(const char *device);

#endif
