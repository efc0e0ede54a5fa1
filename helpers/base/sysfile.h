/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of sysfs, below a folder that is open. */
#ifndef HM_BASE_SYSFILE_H
#define HM_BASE_SYSFILE_H

#include <stddef.h>
#include <stdint.h>

/* Open a regular file for reading; links are followed, as sysfs is made of them. Returns a descriptor that the caller
 * closes, or -1 with errno. */
int hm_sysfile_open(int folder, const char *path);

/*
 * Read the file's only line from its start, without the newline, at most size - 1 bytes. Returns 0, or -1: the errno of
 * read, ENODEV for a file that was removed, EBADMSG for one that is empty, too long or more than a line.
 */
int hm_sysfile_read_open(int fd, char *text, size_t size);

/* The same with the file opened and closed. Returns 0, or -1 with errno. */
int hm_sysfile_read(int folder, const char *path, char *text, size_t size);

/* The file's line is a decimal number of 64 bits. Returns 0, or -1 with errno (EBADMSG). */
int hm_sysfile_read_number(int folder, const char *path, uint64_t *number);

/*
 * The names in the folder that match a pattern of fnmatch(3) and are of letters, digits and "_.:-", numbers in them in
 * numerical order. Returns how many (to free with hm_sysfile_free), or -1 with errno.
 */
int hm_sysfile_list(int folder, const char *path, const char *pattern, char ***names);
void hm_sysfile_free(char **names, int n);

#endif
