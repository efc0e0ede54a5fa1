/* SPDX-License-Identifier: Apache-2.0 */
/* Joins reasons into one text of limited size. Each reason is in it whole or not at all, and the text says how many
 * were left out. */
#ifndef HM_METER_COUNT_REASONS_H
#define HM_METER_COUNT_REASONS_H

#include <stddef.h>

struct hm_reasons {
    char *text;
    size_t size; /* bytes of `text`, 64 or more */
    int n_more;  /* reasons that had no room */
};

/* Begin; the caller's `text` becomes "". */
struct hm_reasons hm_reasons_begin(char *text, size_t size);

/* Add a reason (printf style), with `separator` before it unless it is the first. */
void hm_reasons_add(struct hm_reasons *reasons, const char *separator, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Add how many reasons had no room, if any: "; and 3 more". */
void hm_reasons_end(struct hm_reasons *reasons);

#endif
