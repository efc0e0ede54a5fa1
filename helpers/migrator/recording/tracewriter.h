/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a trace into a file, compressed with zstd if its name ends in .zst. The file is there when it is whole, with
 * the header, which is known last, in front; before that, whatever has its name stays. */
#ifndef HM_MIGRATOR_RECORDING_TRACEWRITER_H
#define HM_MIGRATOR_RECORDING_TRACEWRITER_H

#include <stddef.h>

#include "base/newfile.h"

struct ZSTD_CCtx_s;

struct hm_tracewriter {
    struct hm_newfile file;
    int rows;                 /* descriptor of a file without a name that has the rows */
    struct ZSTD_CCtx_s *zstd; /* NULL: not compressed */
};

/*
 * Makes the temporary files, in the folder of the file: so one that cannot be written is known at once. A link is
 * followed. Returns 0, or -1 with a text that begins with the path: EINVAL (no regular file), or the errno of the file
 * system. hm_tracewriter_close has to follow, whatever is returned.
 */
int hm_tracewriter_open(struct hm_tracewriter *writer, const char *path, struct hm_error *error);
/* Adds rows, each with a newline. Returns 0, or -1. */
int hm_tracewriter_put(struct hm_tracewriter *writer, const char *text, size_t length, struct hm_error *error);
/* Puts the file together, and in its place. `header` are lines that begin with "#". Returns 0, or -1. */
int hm_tracewriter_end(struct hm_tracewriter *writer, const char *header, struct hm_error *error);
/* Frees all, and removes the temporary file. */
void hm_tracewriter_close(struct hm_tracewriter *writer);

#endif
