/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a configuration's text as the file "f". */
#ifndef PARSECONFIG_H
#define PARSECONFIG_H

#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"

/* Parse a copy on the heap that has just the room that hm_config_parse needs, one byte more than the text, so that the
 * sanitizer sees any access past it. */
static inline int parse_bytes(const char *text, size_t length, struct hm_config *config, struct hm_error *error)
{
    char *copy = malloc(length + 1);
    if (!copy)
        return -1;
    memcpy(copy, text, length);
    int status = hm_config_parse("f", copy, length, config, error);
    free(copy);
    return status;
}

static inline int parse(const char *text, struct hm_config *config, struct hm_error *error)
{
    return parse_bytes(text, strlen(text), config, error);
}

#endif
