/* SPDX-License-Identifier: Apache-2.0 */
/* Zeroing a block device, and believing it only after a look. Where that takes long, the system's log hears of it. */
#ifndef HM_NAMESPACE_PMEM_WIPE_H
#define HM_NAMESPACE_PMEM_WIPE_H

#include <stdint.h>

#include "base/error.h"

/* The size of a block device; 0 where that is not known. */
uint64_t hm_device_bytes(const char *device);

/* From now on, all wipes of this process together may take so long; 0: as long as they take, as without this. */
void hm_wipe_limit(unsigned limit_s);

/*
 * Zero the first and the last `edge` bytes of the device, all of it where these meet; `bytes` must be its size. Then
 * read back its first and last MiB and a page of each other, past the page cache: what is between the edges has to be
 * zero already. Returns 0, or -1: EBUSY where it is in use, EIO where a byte is not zero, ETIME where the limit has
 * passed (another wipe begins anew).
 */
int hm_wipe(const char *device, uint64_t bytes, uint64_t edge, struct hm_error *error);

/*
 * The same for all of the device, but for the first `*done` bytes, which an earlier call has zeroed; they are looked at
 * with the others. Where it fails, `*done` is how far this one came, flushed, with ETIME; with another errno it is of
 * no use.
 */
int hm_wipe_on(const char *device, uint64_t bytes, uint64_t *done, struct hm_error *error);

#endif
