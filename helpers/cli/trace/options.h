/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `hybridmem trace`. */
#ifndef HM_CLI_TRACE_OPTIONS_H
#define HM_CLI_TRACE_OPTIONS_H

#include <stdint.h>

#include "base/words.h"

/* Exit statuses of its own, as those of env(1) and others that run a program; all others are the program's. */
enum {
    HM_TRACE_BAD = HM_WORDS_BAD,
    HM_TRACE_FAILED = 125,
    HM_TRACE_CANNOT_RUN = 126,
    HM_TRACE_NOT_FOUND = 127,
};

struct hm_trace_options {
    const char *output;
    uint64_t phase_accesses;
    uint64_t cache_bytes;
    char **program; /* with its arguments; ends with NULL */
};

/* Fills in `options` from the command line and defaults. Returns -1 to go on, or the exit status, after all messages
 * are printed. */
int hm_traceoptions_parse(int argc, char **argv, struct hm_trace_options *options);

/* Prints one line on standard error. Returns `status`. */
int hm_traceoptions_fail(int status, const char *text);

#endif
