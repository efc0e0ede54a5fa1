/* SPDX-License-Identifier: Apache-2.0 */
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * What a user typed ends up in terminals and logs: everything but printable ASCII is written as \xNN, so that no text
 * can move a cursor or forge a line.
 */
static void escape(char *out, size_t size, const char *text)
{
    size_t used = 0;
    for (const unsigned char *byte = (const unsigned char *)text; *byte; byte++) {
        bool printable = *byte >= 0x20 && *byte < 0x7f;
        size_t need = printable ? 1 : 4;
        if (used + need >= size)
            break;
        if (printable)
            out[used] = (char)*byte;
        else
            snprintf(out + used, need + 1, "\\x%02x", *byte);
        used += need;
    }
    out[used] = '\0';
}

static void write_text(struct hm_error *error, int number, const char *format, va_list arguments)
{
    char raw[HM_ERROR_TEXT];
    if (!error)
        return;
    int length = vsnprintf(raw, sizeof(raw), format, arguments);
    if (length < 0)
        raw[0] = '\0';
    else if (number && (size_t)length < sizeof(raw))
        snprintf(raw + length, sizeof(raw) - (size_t)length, ": %s", strerror(number));
    escape(error->text, sizeof(error->text), raw);
}

int hm_fail(struct hm_error *error, int number, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_text(error, 0, format, arguments);
    va_end(arguments);
    errno = number;
    return -1;
}

int hm_fail_errno(struct hm_error *error, const char *format, ...)
{
    int number = errno;
    va_list arguments;
    va_start(arguments, format);
    write_text(error, number, format, arguments);
    va_end(arguments);
    errno = number;
    return -1;
}
