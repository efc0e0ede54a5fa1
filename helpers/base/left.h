/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that several processes leave in one file in memory, which they have all inherited. They share its offset, and
 * Linux does not lock the offset of a file of memfd_create(2) for a write (it sets FMODE_ATOMIC_POS in open(2) alone):
 * of two writes at once, one would be lost. O_APPEND is of no use either, as the file's size is sealed. So each process
 * takes its place by an atomic addition to a counter in the file.
 */
#ifndef HM_BASE_LEFT_H
#define HM_BASE_LEFT_H

#include <stddef.h>

#include "ended.h"

#define HM_LEFT_BYTES 8                                 /* the counter, zero before */
#define HM_LEFT_BEHIND (HM_LEFT_BYTES + HM_ENDED_BYTES) /* at the end of the file, behind all text */

/*
 * Leaves the text. The file must be sealed against growth, and have a multiple of 8 bytes; what is no such file, as a
 * pipe, is written to as ever. Returns 0, or -1 with errno: ENOSPC where there is no room.
 */
int hm_left_add(int fd, const char *text, size_t length);

/*
 * Reads at most size - 1 bytes from the beginning of what was left, and puts '\0' after them. A process that was killed
 * before it could fill its place has left zero bytes there: they become newlines. Returns the length.
 */
size_t hm_left_read(int fd, char *out, size_t size);

/* The line behind this one, "" behind the last. Pure. */
const char *hm_left_next(const char *line);

#endif
