/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a record as JSON has them. */
#ifndef HM_JOB_RECORD_JSON_H
#define HM_JOB_RECORD_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/set.h"

/* A text of at most `size` bytes; null where it is empty. Bytes that are not UTF-8 are written as \xNN. */
json_t *hm_json_text(const char *text, size_t size);
/* RFC 3339 in UTC with milliseconds; null where it is not known (0 or less). */
json_t *hm_json_time(int64_t ns);
/* Bytes, at most INT64_MAX: JSON readers have no larger integer. */
json_t *hm_json_bytes(uint64_t bytes);
/* The members of a set as an array. */
json_t *hm_json_set(const struct hm_set *set);
/* Add a text (printf style, HM_ERROR_TEXT bytes at most) to the record's warnings. */
void hm_record_warn(json_t *warnings, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
