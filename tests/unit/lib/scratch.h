/* SPDX-License-Identifier: Apache-2.0 */
/* The folder that a test program works in. */
#ifndef SCRATCH_H
#define SCRATCH_H

/* Its path, from scratch_make() on. */
extern char scratch[];

/* Before the first test of a program: make it; after the last: remove it with all in it. */
int scratch_make(void **state);
int scratch_drop(void **state);

/* Remove a folder and all in it; one that is not there is fine. Returns 0 or -1. */
int scratch_remove(const char *path);
/* A path in the folder, printf style; it holds for the next few calls. */
__attribute__((format(printf, 1, 2))) char *scratch_path(const char *format, ...);
/* Write a file with this text (mode 0600 where it is new), or replace what it has. */
void scratch_write(const char *path, const char *text);

#endif
