/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers, sizes and times as people write them. All parsers read the whole string, check for overflow, and refuse
 * signs, spaces and anything after the unit. Their error texts start with the value in quotes, so that the caller can
 * put a name before it.
 */
#ifndef HM_BASE_SIZE_H
#define HM_BASE_SIZE_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

/* Parse decimal digits, a number from `least` to `most`. Returns 0, or -1 (EINVAL, ERANGE). */
int hm_size_parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number, struct hm_error *error);

/* Parse a size into bytes: digits, optionally with K, M, G or T for 2^10, 2^20, 2^30, 2^40. Returns 0, or -1 (EINVAL;
 * ERANGE above 2^64 - 1). */
int hm_size_parse(const char *text, uint64_t *bytes, struct hm_error *error);

/* Parse digits, optional decimals, and this unit: "12.5W". At most nine digits before and after the point. Returns 0,
 * or -1 (EINVAL). */
int hm_size_parse_amount(const char *text, const char *unit, double *amount, struct hm_error *error);

/* Parse a percentage of 0 to 100: "2%", "2.5%". Returns 0, or -1 (EINVAL, ERANGE). */
int hm_size_parse_percent(const char *text, double *percent, struct hm_error *error);

/* Parse "1/N" for one of N, with N from `least` to `most`: a rate of samples. Returns 0, or -1 (EINVAL, ERANGE). */
int hm_size_parse_one_in(const char *text, uint64_t least, uint64_t most, uint64_t *number, struct hm_error *error);

/* Parse a time into milliseconds: digits and ms, s, min or h. Returns 0, or -1 (EINVAL, ERANGE). Where only the unit
 * is missing, the text says so. */
int hm_size_parse_duration(const char *text, uint64_t *milliseconds, struct hm_error *error);

/* Write a size for people: "512 B", "1.5 GiB". Returns `out`; 24 bytes are enough. */
char *hm_size_format(uint64_t bytes, char *out, size_t size);

#endif
