/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for the commands that print their figures as JSON. */
#ifndef HM_CLI_DRAW_FIGURES_H
#define HM_CLI_DRAW_FIGURES_H

#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/set.h"

/*
 * Returns the array or object if it has all `n` values. If not, memory was short while it was filled: then frees it and
 * returns NULL, which makes json_pack fail, too.
 */
static inline json_t *hm_figures_whole(json_t *values, size_t n)
{
    /* jansson returns 0 as the size of a value of the other type */
    if (json_array_size(values) + json_object_size(values) == n)
        return values;
    json_decref(values);
    return NULL;
}

/* A number, or null where it is not known: NaN or infinite. */
static inline json_t *hm_figures_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* The members of a set as an array. NULL: no memory. */
static inline json_t *hm_figures_set(const struct hm_set *set)
{
    json_t *array = json_array();
    for (int member = hm_set_next(set, 0); member >= 0; member = hm_set_next(set, (unsigned)member + 1))
        json_array_append_new(array, json_integer(member));
    return hm_figures_whole(array, hm_set_count(set));
}

/* Prints the object and a newline; `flags` are jansson's. NULL means that memory was short. Returns 0 or -1, for
 * hm_output_end. */
static inline int hm_figures_put(FILE *out, const json_t *object, size_t flags)
{
    return object && json_dumpf(object, out, flags) == 0 && fputc('\n', out) != EOF ? 0 : -1;
}

/* The same, and frees the object. */
static inline int hm_figures_end(FILE *out, json_t *object, size_t flags)
{
    int result = hm_figures_put(out, object, flags);
    json_decref(object);
    return result;
}

#endif
