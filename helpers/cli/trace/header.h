/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a trace: what was recorded, how, and which processes it has. */
#ifndef HM_CLI_TRACE_HEADER_H
#define HM_CLI_TRACE_HEADER_H

#include "options.h"
#include "valgrind.h"

/* Makes the header; the caller frees it. `status` is the program's, of wait(2). Returns NULL: no memory. */
char *hm_traceheader_make(const struct hm_trace_options *options, const struct hm_valgrind *valgrind, int status);

#endif
