/* SPDX-License-Identifier: Apache-2.0 */
/* Makes JSON values of a record. */
#ifndef HM_JOB_RECORD_JSON_H
#define HM_JOB_RECORD_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/set.h"

/* A text of at most `size` bytes; null if it is empty. If it is not UTF-8, bytes above 0x7f are written as \xNN. */
json_t *hm_json_text(const char *text, size_t size);
/* A time, as RFC 3339 in UTC with milliseconds; null if it is not known (0 or less). */
json_t *hm_json_time(int64_t ns);
/* A number of bytes, limited to INT64_MAX, the largest integer of many JSON readers. */
json_t *hm_json_bytes(uint64_t bytes);
/* The members of a set as an array. */
json_t *hm_json_set(const struct hm_set *set);
/* Adds a text (printf style, at most HM_ERROR_TEXT bytes) to the record's warnings. */
void hm_record_warn(json_t *warnings, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
