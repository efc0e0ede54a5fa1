/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes small texts in /proc, /sys, cgroup folders and folders of hybridmem's; opens the latter; closes
 * descriptors. A symbolic link at the end of a path is not followed, and reading does not wait for the writer of a
 * pipe. (sysfile.h reads files of one line, and follows the links of sysfs.)
 */
#ifndef HM_BASE_FILES_H
#define HM_BASE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "error.h"

/* Read a file of less than `size` bytes into `out`, terminated and without its last newline. Returns 0, or -1 with
 * errno (E2BIG: the file is longer). */
int hm_file_read(const char *path, char *out, size_t size, struct hm_error *error);
/* Read at most the first size - 1 bytes of a file in the folder `at` (or AT_FDCWD) into `out`, terminated; "" where
 * reading fails. Returns how many bytes were read, or -1 with errno. Allocates nothing. */
ssize_t hm_file_read_at(int at, const char *name, char *out, size_t size);
/* The same for a path, but returns 0 or -1. */
int hm_file_read_start(const char *path, char *out, size_t size);
/* The same for an open file, with a single read, from its start. The position in the file stays. */
ssize_t hm_file_read_open(int fd, char *out, size_t size);
/* Read a whole file that was just opened. Returns its text, terminated, for the caller to free, and its length; or NULL
 * with errno (E2BIG: it is longer than `most` bytes; EINVAL: it is no regular file). */
char *hm_file_read_whole(int fd, size_t most, size_t *length);
/* Open a file of this program's for reading, in the folder `at`. Returns a descriptor that the caller closes, or -1
 * with errno (EPERM: it is no regular file, belongs to somebody else, or others may read or write it). */
int hm_file_open_own(int at, const char *name);
/* Read the first line, without its newline, as hm_file_read_start reads. */
int hm_file_read_line(const char *path, char *out, size_t size);
/* Make a new file with `length` bytes of text, for its owner alone (mode 0600), in the folder `at` (or AT_FDCWD).
 * Nothing may be there under its name. Returns a descriptor that the caller closes, or -1 with errno (ENOSPC: there was
 * room for a part only); then it has left no file. */
int hm_file_make(int at, const char *name, const char *text, size_t length);
/* Write `text` to an existing file, in one write. Returns 0 or -1. */
int hm_file_write(const char *path, const char *text, struct hm_error *error);

/*
 * The mode of folders through which users pass. They must not be able to list them: the kernel holds a folder's lock
 * while it writes the names into the memory of the process that lists it, and a user can make that take for ever (by
 * memory that is mapped from a FUSE of theirs). Whoever makes, renames or removes something in that folder waits
 * meanwhile, and cannot be killed.
 */
#define HM_FOLDER_PASS 0711
#define HM_FOLDER_LIST 0044 /* the permissions to list */
/* All permissions of others. Who passes through a folder can hold its lock, too: mkdir takes it before it is refused,
 * and a thread that gets no CPU keeps it. */
#define HM_FOLDER_USERS 0077

/*
 * Open a folder of hybridmem's below the folder `at` (or AT_FDCWD), and make it with this mode where it is missing. Of
 * a folder that is there, the permissions to list are taken away where `mode` does not have them. Nobody else may be
 * able to put files into it. Returns a descriptor that the caller closes, or -1: EPERM where the folder belongs to
 * somebody else, or others may write to it although `mode` does not say so.
 */
int hm_folder_open_own(int at, const char *path, mode_t mode, struct hm_error *error);

/* Is this file on DAX memory, so that mappings of it bypass the page cache? 1: yes. 0: no, or the kernel cannot tell
 * (before 5.8). -1: it cannot be looked at (errno). */
int hm_file_is_dax(int fd);

/* Close all descriptors from `first` on except `kept` (-1: no exception). Safe between fork and exec. */
void hm_close_from(int first, int kept);

/* Copy `from` into `to` (`size` bytes), cut where it is too long. `to` is always terminated. Returns `to`. */
char *hm_text_copy(char *to, const char *from, size_t size);

#endif
