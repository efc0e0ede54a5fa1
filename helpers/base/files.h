/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one reader of small texts in /proc, /sys and cgroup folders (sysfile.h reads the counters of the meter, from
 * files that stay open); folders of ours; descriptors. A link in a path's last place is not followed, and nothing is
 * waited for.
 */
#ifndef HM_BASE_FILES_H
#define HM_BASE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "error.h"

/* Read a file of less than `size` bytes into `out`, terminated, without its last newline. Returns 0, or -1 (E2BIG:
 * longer). */
int hm_file_read(const char *path, char *out, size_t size, struct hm_error *error);
/*
 * Read the first size - 1 bytes at most into `out`, terminated; "" where that fails. Returns 0, or -1 with errno. Safe
 * where nothing may be allocated.
 */
int hm_file_read_start(const char *path, char *out, size_t size);
/* The same up to the first newline. */
int hm_file_read_line(const char *path, char *out, size_t size);
/* Write `text` in one write to a file that exists. Returns 0 or -1. */
int hm_file_write(const char *path, const char *text, struct hm_error *error);

/*
 * Open a folder of ours below the folder `at` (AT_FDCWD), made with this mode where it is missing; nobody else may be
 * able to put files into it. Returns a descriptor that the caller closes, or -1: EPERM where it is another's, or
 * writable by others beyond the mode.
 */
int hm_folder_open_own(int at, const char *path, mode_t mode, struct hm_error *error);

/* Is this file mapped past the page cache? false also where the kernel, before 5.8, does not tell. */
bool hm_file_is_dax(int fd);

/* Close all descriptors from `first` on, but `kept` (-1: none). Safe between fork and exec. */
void hm_close_from(int first, int kept);

/*
 * Copy `from` into `to` (`size` bytes), cut where it is too long; `to` is always terminated. Returns `to`.
 */
char *hm_text_copy(char *to, const char *from, size_t size);

#endif
