/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a text of a fuzzer's input. */
#ifndef INPUTTEXT_H
#define INPUTTEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Returns the input with a '\0' after it (free it), or NULL. The memory ends with the '\0', so that a read past it is
 * seen. */
static inline char *input_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return NULL;
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

#endif
