/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libConfuse may see of hybridmem.conf. Its scanner expands ${VAR} of the environment in strings and between them,
 * keeps a state of its own over calls where a string is not closed or an escape is wrong, counts comment lines more
 * than once, and drops characters that it does not know. None of that happens to a text that went through here.
 */
#ifndef HM_CORE_CONFIG_CLEAN_H
#define HM_CORE_CONFIG_CLEAN_H

#include <stddef.h>

#include "base/error.h"

/*
 * Check `text` (`length` bytes, with room for an end mark) and blank its comments in place; lines stay where they are.
 * Returns 0, or the number of the line (from 1) that is wrong, with the reason in `error`, without file or line.
 */
int hm_configclean(char *text, size_t length, struct hm_error *error);

#endif
