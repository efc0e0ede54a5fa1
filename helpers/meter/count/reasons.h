/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reasons joined in a text of bounded size: each is in it as a whole or not at all, and the text says how many are not.
 */
#ifndef HM_METER_COUNT_REASONS_H
#define HM_METER_COUNT_REASONS_H

#include <stddef.h>

struct hm_reasons {
    char *text;
    size_t size; /* bytes of `text`, 64 or more */
    int n_more;  /* how many had no room */
};

/* Begin with "" in the caller's `text`. */
struct hm_reasons hm_reasons_begin(char *text, size_t size);

/* Add one, after `separator` where it is not the first. Pure, but for the text. */
void hm_reasons_add(struct hm_reasons *reasons, const char *separator, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Say how many had no room, if any: "; and 3 more". */
void hm_reasons_end(struct hm_reasons *reasons);

#endif
