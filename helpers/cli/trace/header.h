/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a trace: what was recorded, how, and which processes it has. */
#ifndef HM_CLI_TRACE_HEADER_H
#define HM_CLI_TRACE_HEADER_H

#include "options.h"
#include "program.h"
#include "valgrind.h"

/* Makes the header of a program that has ended; the caller frees it. Returns NULL: no memory. */
char *hm_traceheader_make(const struct hm_trace_options *options, const struct hm_valgrind *valgrind,
                          const struct hm_program *program);

#endif
