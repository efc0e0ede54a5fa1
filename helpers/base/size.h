/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantities as people write them. All parsers take the whole string, check for overflow, and refuse signs, spaces and
 * anything behind the unit; their error texts start with the value in quotes, for the caller to put a name before it.
 */
#ifndef HM_BASE_SIZE_H
#define HM_BASE_SIZE_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

/* Decimal digits, within least..most. Returns 0, or -1 (EINVAL, ERANGE). */
int hm_size_parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number, struct hm_error *error);

/* Bytes: digits, and K, M, G or T for 2^10, 2^20, 2^30, 2^40. Returns 0, or -1 (EINVAL; ERANGE above 2^64 - 1). */
int hm_size_parse(const char *text, uint64_t *bytes, struct hm_error *error);

/*
 * Digits, with a point and decimals or without, and this unit: "12.5W". At most nine of each. Returns 0, or -1
 * (EINVAL).
 */
int hm_size_parse_amount(const char *text, const char *unit, double *amount, struct hm_error *error);

/* "2%", "2.5%": 0 to 100. Returns 0, or -1 (EINVAL, ERANGE). */
int hm_size_parse_percent(const char *text, double *percent, struct hm_error *error);

/* Milliseconds: digits and ms, s, min or h. Returns 0, or -1 (EINVAL, ERANGE). */
int hm_size_parse_duration(const char *text, uint64_t *milliseconds, struct hm_error *error);

/* Bytes for people: "512 B", "1.5 GiB". Returns `out`; 24 bytes are enough. */
char *hm_size_format(uint64_t bytes, char *out, size_t size);

#endif
