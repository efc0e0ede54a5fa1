/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the text that describes two tiers under load; hybridmem-replay(1) has its form. Pure. */
#ifndef HM_CORE_LOAD_TEXT_H
#define HM_CORE_LOAD_TEXT_H

#include <stddef.h>

#include "balance.h"

/*
 * Parses a text of `length` bytes. `path` is used in error texts only. Returns 0, or -1 (EBADMSG) with "PATH:LINE: ..."
 * or, if something is missing, "PATH: ...". A curve that was read has a last point with traffic.
 */
int hm_load_parse(const char *path, const char *text, size_t length, struct hm_load *load, struct hm_error *error);

#endif
