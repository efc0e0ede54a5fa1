/* SPDX-License-Identifier: Apache-2.0 */
/* Moments as text: RFC 3339 in UTC. */
#ifndef HM_BASE_MOMENT_H
#define HM_BASE_MOMENT_H

#include <stdint.h>

#define HM_MOMENT 24 /* room for "2026-11-29T20:11:00Z", up to the year 9999 */

/* Write seconds since 1970 as text; "" before 1970 and after the year 9999. Returns `out`. */
char *hm_moment_format(int64_t seconds, char out[HM_MOMENT]);

/* Read a moment as hm_moment_format writes it. Returns 0, or -1 (EINVAL). */
int hm_moment_parse(const char *text, int64_t *seconds);

#endif
