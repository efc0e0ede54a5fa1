/* SPDX-License-Identifier: Apache-2.0 */
#include "fit.h"

#include <stdio.h>
#include <string.h>

#define MORE "..."

/* The end of the last whole word within `most` bytes of the text, or `most` where that would leave out half of them: a
 * word may be a path. */
static size_t find_end(const char *text, size_t most)
{
    const char *blank = memrchr(text, ' ', most + 1);
    size_t end = blank ? (size_t)(blank - text) : 0;
    while (end > 0 && strchr(" ,;:", text[end - 1]))
        end--;
    return end < most / 2 ? most : end;
}

size_t hm_fit_list(char *out, size_t size, const char *format, va_list arguments)
{
    int length = vsnprintf(out, size, format, arguments);
    if (length < 0)
        out[0] = '\0';
    if (length < 0 || (size_t)length < size)
        return strlen(out);
    size_t end = find_end(out, size - sizeof(MORE));
    memcpy(out + end, MORE, sizeof(MORE));
    return end + strlen(MORE);
}

size_t hm_fit(char *out, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t length = hm_fit_list(out, size, format, arguments);
    va_end(arguments);
    return length;
}
