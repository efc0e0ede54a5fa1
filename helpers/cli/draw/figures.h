/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for the commands that print their figures as JSON. */
#ifndef HM_CLI_DRAW_FIGURES_H
#define HM_CLI_DRAW_FIGURES_H

#include <jansson.h>
#include <stdio.h>

/*
 * Returns the array if it has all `n` values. If not, memory was short while it was filled: then frees it and returns
 * NULL, which makes json_pack fail, too.
 */
static inline json_t *hm_figures_whole(json_t *array, size_t n)
{
    if (json_array_size(array) == n)
        return array;
    json_decref(array);
    return NULL;
}

/* Prints the object, indented; `flags` are jansson's. NULL means that memory was short. Returns 0 or -1, for
 * hm_output_end. */
static inline int hm_figures_put(FILE *out, const json_t *object, size_t flags)
{
    return object && json_dumpf(object, out, JSON_INDENT(2) | flags) == 0 && fputc('\n', out) != EOF ? 0 : -1;
}

/* The same, to standard output. */
static inline int hm_figures_print(const json_t *object, size_t flags)
{
    return hm_figures_put(stdout, object, flags);
}

#endif
