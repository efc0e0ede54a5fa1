/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mark at the end of a device whose file system is kept: it says whose that is, and that all of the user's file
 * systems were finished. It is written last and taken away first, so that what a crash has left half made, or half
 * removed, is never taken for whole; and that what has lost its file system alone is not taken for that.
 */
#ifndef HM_NAMESPACE_PMEM_MARK_H
#define HM_NAMESPACE_PMEM_MARK_H

#include <stdint.h>

#include "owner.h"

#define HM_MARK_PAGE 4096
#define HM_MARK_FS 8 /* longest name of a file system, with the end mark */

/* How much of a device of so many bytes is for the file system: the rest is the mark's. Pure. */
uint64_t hm_mark_room(uint64_t device_bytes);

/* The mark's text, zeros behind it. Pure. */
void hm_mark_format(const struct hm_owner *owner, const char *filesystem, char page[HM_MARK_PAGE]);
/* Is it the owner's mark, with a file system of ours? `filesystem` is then filled. Takes any bytes. Pure. */
bool hm_mark_parse(const char page[HM_MARK_PAGE], const struct hm_owner *owner, char filesystem[HM_MARK_FS]);

/* Write the mark past the page cache, and flush. Returns 0, or -1 (EBUSY: the device is in use). */
int hm_mark_write(const char *device, const struct hm_owner *owner, const char *filesystem, struct hm_error *error);
/* Take away whatever is in its place. Returns 0, or -1 (EBUSY). */
int hm_mark_clear(const char *device, struct hm_error *error);
/* Returns 1 where the owner's mark is there, 0 where it is not, -1 where the device cannot be read. */
int hm_mark_read(const char *device, const struct hm_owner *owner, char filesystem[HM_MARK_FS], struct hm_error *error);

#endif
