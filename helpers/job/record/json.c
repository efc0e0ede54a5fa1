/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/moment.h"

json_t *hm_json_text(const char *text, size_t size)
{
    size_t length = strnlen(text, size), used = 0;
    if (length == 0)
        return json_null();
    json_t *plain = json_stringn(text, length);
    char *escaped = plain ? NULL : malloc(4 * length + 1);
    if (!escaped)
        return plain;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte < 0x80)
            escaped[used++] = (char)byte;
        else
            used += (size_t)snprintf(escaped + used, 5, "\\x%02x", byte);
    }
    plain = json_stringn(escaped, used);
    free(escaped);
    return plain;
}

json_t *hm_json_time(int64_t ns)
{
    char moment[HM_MOMENT], text[HM_MOMENT + 8];
    if (ns <= 0)
        return json_null();
    hm_moment_format(ns / 1000000000, moment);
    snprintf(text, sizeof(text), "%.*s.%03dZ", (int)strcspn(moment, "Z"), moment, (int)(ns / 1000000 % 1000));
    return json_string(text);
}

json_t *hm_json_bytes(uint64_t bytes)
{
    return json_integer(bytes > INT64_MAX ? INT64_MAX : (json_int_t)bytes);
}

json_t *hm_json_set(const struct hm_set *set)
{
    json_t *array = json_array();
    for (int member = hm_set_next(set, 0); member >= 0; member = hm_set_next(set, (unsigned)member + 1))
        json_array_append_new(array, json_integer(member));
    return array;
}

void hm_record_warn(json_t *warnings, const char *format, ...)
{
    char text[HM_ERROR_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    json_array_append_new(warnings, hm_json_text(text, sizeof(text)));
}
