/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the text of hybridmem.conf before libConfuse parses it, because libConfuse's scanner is too lenient: it
 * expands ${VAR} from the environment, inside strings and outside; it keeps state between calls after an unclosed
 * string or a wrong escape; it counts comment lines more than once; and it drops characters that it does not know. None
 * of this can happen with a text that passed this check.
 */
#ifndef HM_CORE_CONFIG_CLEAN_H
#define HM_CORE_CONFIG_CLEAN_H

#include <stddef.h>

#include "base/error.h"

/*
 * Check `text` (`length` bytes, with room for an end mark), and replace its comments by blanks, so that line numbers
 * stay right. Returns 0, or the number of the wrong line (from 1), with the reason in `error`, without file and line.
 */
int hm_configclean(char *text, size_t length, struct hm_error *error);

#endif
