/* SPDX-License-Identifier: Apache-2.0 */
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Write a byte as itself or as an escape. Returns the length. */
static size_t show_byte(char out[5], unsigned char byte)
{
    static const char shorts[] = "\tt\nn\rr";
    for (const char *pair = shorts; *pair; pair += 2)
        if (byte == (unsigned char)pair[0])
            return (size_t)snprintf(out, 5, "\\%c", pair[1]);
    return (size_t)snprintf(out, 5, byte >= 0x20 && byte < 0x7f ? "%c" : "\\x%02x", byte);
}

/* Errors quote what users typed, and are shown in terminals and logs. Everything but printable ASCII is escaped, so
 * that no text can move a cursor or forge a line. */
static void escape(char *out, size_t size, const char *text)
{
    size_t used = 0;
    for (; *text; text++) {
        char shown[5];
        size_t length = show_byte(shown, (unsigned char)*text);
        if (used + length >= size)
            break;
        memcpy(out + used, shown, length);
        used += length;
    }
    out[used] = '\0';
}

__attribute__((format(printf, 3, 0))) static void write_text(struct hm_error *error, int number, const char *format,
                                                             va_list arguments)
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

bool hm_is_shortage(int number)
{
    return number == EAGAIN || number == ENOMEM || number == EMFILE || number == ENFILE;
}
