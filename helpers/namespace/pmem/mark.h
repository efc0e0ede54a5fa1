/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mark at the end of a device whose file system is kept. It says whose the file system is, and that all file
 * systems that were made together with it were finished. It is written last and removed first, so that what a crash has
 * left half made or half removed is never taken for whole. It also tells a damaged file system from one that was never
 * finished.
 */
#ifndef HM_NAMESPACE_PMEM_MARK_H
#define HM_NAMESPACE_PMEM_MARK_H

#include <stdint.h>

#include "owner.h"

#define HM_MARK_PAGE 4096 /* bytes of the mark, the last ones of the device */
#define HM_MARK_FS 8      /* longest name of a file system, with its terminating 0 */

/*
 * How much of a device of `device_bytes` is for the file system. The rest, at the device's end, is for the mark. No
 * file system gets it, kept or not: what a user writes to a file there could be the superblock of an array of disks
 * (md, DDF, ZFS), which the host's own programs would start. Pure.
 */
uint64_t hm_mark_room(uint64_t device_bytes);

/* Write the mark: a text, and zeros after it. Pure. */
void hm_mark_format(const struct hm_owner *owner, const char *filesystem, char page[HM_MARK_PAGE]);
/* Is this the owner's mark, with a file system that hybridmem makes? Then `filesystem` gets its name. Accepts any
 * bytes. Pure. */
bool hm_mark_parse(const char page[HM_MARK_PAGE], const struct hm_owner *owner, char filesystem[HM_MARK_FS]);

/* Write the mark, bypassing the page cache, and flush. Returns 0, or -1: EBUSY where the device is in use, else the
 * errno of the call that failed. */
int hm_mark_write(const char *device, const struct hm_owner *owner, const char *filesystem, struct hm_error *error);
/* Clear the place of the mark. Returns 0 or -1, as hm_mark_write. */
int hm_mark_clear(const char *device, struct hm_error *error);
/* Read the mark. Returns 1 where it is there and the owner's, 0 where it is not, -1 where the device cannot be read. */
int hm_mark_read(const char *device, const struct hm_owner *owner, char filesystem[HM_MARK_FS], struct hm_error *error);

#endif
