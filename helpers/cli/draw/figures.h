/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that make a picture's figures share. */
#ifndef HM_CLI_DRAW_FIGURES_H
#define HM_CLI_DRAW_FIGURES_H

#include <jansson.h>

/*
 * Returns the array if it has all `n` values. If not, memory was short while it was filled: frees it and returns NULL,
 * with which json_pack fails, too.
 */
static inline json_t *hm_figures_whole(json_t *array, size_t n)
{
    if (json_array_size(array) == n)
        return array;
    json_decref(array);
    return NULL;
}

#endif
