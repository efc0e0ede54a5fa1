/* SPDX-License-Identifier: Apache-2.0 */
/* What came of one run of a plan: the traffic of the slow tier while the program ran, or why there is none. Its file is
 * JSON. Pure. */
#ifndef HM_SITES_MBI_RESULT_H
#define HM_SITES_MBI_RESULT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/moment.h"

#define HM_MBI_RESULT_FILE 65536 /* bytes; a longer file is refused */
#define HM_MBI_RESULT_WORD 256

struct hm_mbi_result {
    char reason[HM_ERROR_TEXT];      /* why the run failed; "": it has not, and the figures are known */
    char node[HM_MBI_RESULT_WORD];   /* host name */
    char source[HM_MBI_RESULT_WORD]; /* of the counters; "" where the run failed */
    char start[HM_MOMENT];
    double elapsed_s;
    double read_bytes, write_bytes; /* of the slow tier; NaN where the run failed */
};

/* Reads a result from its text. `path` is for error texts. Returns 0, or -1 (EBADMSG). */
int hm_mbi_result_parse(const char *path, const char *text, size_t length, struct hm_mbi_result *result,
                        struct hm_error *error);
/* The result as JSON. NULL: no memory. */
json_t *hm_mbi_result_json(const struct hm_mbi_result *result);

#endif
