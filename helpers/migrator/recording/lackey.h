/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses what valgrind --tool=lackey --trace-mem=yes writes: a line for each instruction, load and store of a process,
 * and messages between them. Pure.
 */
#ifndef HM_MIGRATOR_RECORDING_LACKEY_H
#define HM_MIGRATOR_RECORDING_LACKEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HM_LACKEY_LINE 512  /* longest line that is kept: what is longer is a message, and is cut */
#define HM_LACKEY_BYTES 512 /* most bytes of an access: lackey's own limit (MAX_DSIZE) */

enum hm_lackey_kind {
    HM_LACKEY_LOAD,
    HM_LACKEY_STORE,
    HM_LACKEY_MODIFY,  /* a load, then a store to the same place */
    HM_LACKEY_FETCH,   /* of an instruction */
    HM_LACKEY_IMAGE,   /* the process begins a program: it has new memory only */
    HM_LACKEY_COMMAND, /* the command line of that program */
    HM_LACKEY_TROUBLE, /* what Valgrind cannot do, such as an instruction that it does not know */
    HM_LACKEY_MESSAGE, /* any other message */
    HM_LACKEY_UNKNOWN, /* no line of lackey's, and no message */
};

struct hm_lackey_line {
    enum hm_lackey_kind kind;
    uint64_t address; /* of LOAD to FETCH, with `size` 1 .. HM_LACKEY_BYTES */
    unsigned size;
    const char *text; /* of the others: `length` bytes of the line, without what comes before a message */
    size_t length;
};

/* Parses a line without its newline. `text` points into it. */
void hm_lackey_parse(const char *line, size_t length, struct hm_lackey_line *parsed);

/* The output of one process, which may be cut anywhere. Begins as {0}. */
struct hm_lackey_stream {
    char part[HM_LACKEY_LINE]; /* the line that is not complete yet */
    size_t length;
};

typedef void hm_lackey_take(void *data, const struct hm_lackey_line *line);

/* Takes the next `length` bytes, and hands on each line that is complete. */
void hm_lackey_feed(struct hm_lackey_stream *stream, const char *text, size_t length, hm_lackey_take *take, void *data);

#endif
