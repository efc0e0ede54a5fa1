/* SPDX-License-Identifier: Apache-2.0 */
/* Zeroing a block device, and believing it only after a look. */
#ifndef HM_WIPE_H
#define HM_WIPE_H

#include <stdint.h>

#include "../core/error.h"

/*
 * Zero all `bytes` of the device, which must be its size, then read back its first and last MiB and a page of each
 * other, past the page cache. Returns 0, or -1: EBUSY where it is in use, EIO where a byte is not zero.
 */
int hm_wipe(const char *device, uint64_t bytes, struct hm_error *error);

#endif
