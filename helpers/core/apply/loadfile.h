/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the file of two tiers under load (core/load/text.h). */
#ifndef HM_CORE_APPLY_LOADFILE_H
#define HM_CORE_APPLY_LOADFILE_H

#include "core/load/balance.h"

/* Reads the file. Returns 0, or -1: errno of open(2) or read(2), EFBIG, EBADMSG, with the path in the text. */
int hm_loadfile_read(const char *path, struct hm_load *load, struct hm_error *error);

#endif
