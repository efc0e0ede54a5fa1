/* SPDX-License-Identifier: Apache-2.0 */
/* Checks JSON that is made from figures which other processes have sent. */
#ifndef JSONLINE_H
#define JSONLINE_H

#include <jansson.h>
#include <stdbool.h>

/* Is a number in `value` negative? No figure of hybridmem's is: what is not known is null. */
static inline bool has_negative(json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;
    if (json_is_number(value))
        return json_number_value(value) < 0;
    json_object_foreach(value, key, item) if (has_negative(item)) return true;
    json_array_foreach(value, i, item) if (has_negative(item)) return true;
    return false;
}

/* Is the text free of control characters? */
static inline bool is_line(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20)
            return false;
    return true;
}

#endif
