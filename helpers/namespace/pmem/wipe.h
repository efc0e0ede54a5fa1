/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zeroes a block device, and verifies that it is zero. A wipe that takes long reports its progress in the system's log.
 */
#ifndef HM_NAMESPACE_PMEM_WIPE_H
#define HM_NAMESPACE_PMEM_WIPE_H

#include <stdint.h>

#include "base/error.h"

/* Zeroing in this process stops once `limit_s` seconds have passed since this call; 0 (the default): no limit. */
void hm_wipe_limit(unsigned limit_s);

/*
 * Zero the first and the last `edge` bytes of the device; all of it where they meet. `bytes` must be its size. Then
 * verify, bypassing the page cache: read the first and the last MiB, and a page of each MiB between them; what is
 * between the edges must be zero already. Returns 0, or -1: EBUSY where the device is in use, EIO where a byte is not
 * zero or the device has another size, ETIME where the limit has passed (the next wipe begins anew).
 */
int hm_wipe(const char *device, uint64_t bytes, uint64_t edge, struct hm_error *error);

/* Zero and verify the whole device, without zeroing the first `*done` bytes again, which an earlier call has zeroed.
 * With ETIME `*done` becomes how far this call came, flushed, or 0 where the flush failed. After any other error
 * `*done` is meaningless. */
int hm_wipe_on(const char *device, uint64_t bytes, uint64_t *done, struct hm_error *error);

#endif
