/* SPDX-License-Identifier: Apache-2.0 */
/* The temporary folder of a test program. */
#ifndef SCRATCH_H
#define SCRATCH_H

/* The folder's path; valid after scratch_make(). */
extern char scratch[];

/* Make the folder, before the first test of a program; remove it with its content, after the last one. */
int scratch_make(void **state);
int scratch_drop(void **state);

/* Remove a folder with its content; it may be missing. Returns 0 or -1. */
int scratch_remove(const char *path);
/* A path in the folder (printf style); valid for the next seven calls. */
__attribute__((format(printf, 1, 2))) char *scratch_path(const char *format, ...);
/* Write a file with this text (mode 0600 where it is new), or replace its content. */
void scratch_write(const char *path, const char *text);

#endif
