/* SPDX-License-Identifier: Apache-2.0 */
/* Reads small files of sysfs, by paths below an open folder. Unlike files.h, it follows links, of which sysfs consists,
 * and refuses a file that was removed or is not one whole line. */
#ifndef HM_BASE_SYSFILE_H
#define HM_BASE_SYSFILE_H

#include <stddef.h>
#include <stdint.h>

/* Open a regular file for reading. Returns a descriptor that the caller
 * closes, or -1 with errno. */
int hm_sysfile_open(int folder, const char *path);

/* Read the only line of an open file from its start, without the newline. The file has at most size - 2 bytes, with
 * the newline. Returns 0, or -1: the errno of read, ENODEV where the file was removed, EBADMSG where it is empty, too
 * long, has a byte 0, or has more than one line. */
int hm_sysfile_read_open(int fd, char *text, size_t size);

/* Open a file, read its only line as hm_sysfile_read_open does, and close it. Returns 0, or -1 with errno. */
int hm_sysfile_read(int folder, const char *path, char *text, size_t size);

/* Read a file that holds one decimal number of 64 bits. Returns 0, or -1 with errno: EBADMSG where it holds no such
 * number. */
int hm_sysfile_read_number(int folder, const char *path, uint64_t *number);

/* List the names in a folder that match a pattern of fnmatch(3) and have only letters, digits and "_.:-", sorted so
 * that numbers in them are in numerical order. Returns how many (free them with hm_sysfile_free), or -1 with errno. */
int hm_sysfile_list(int folder, const char *path, const char *pattern, char ***names);
void hm_sysfile_free(char **names, int n);

#endif
