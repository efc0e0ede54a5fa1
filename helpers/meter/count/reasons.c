/* SPDX-License-Identifier: Apache-2.0 */
#include "reasons.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"

#define LAST_WORDS 32 /* room kept for hm_reasons_end */

struct hm_reasons hm_reasons_begin(char *text, size_t size)
{
    text[0] = '\0';
    return (struct hm_reasons){text, size, 0};
}

void hm_reasons_add(struct hm_reasons *reasons, const char *separator, const char *format, ...)
{
    size_t before = strlen(reasons->text), room = reasons->size - LAST_WORDS, used = before;
    int length;
    va_list arguments;
    if (before > 0)
        used += (size_t)snprintf(reasons->text + before, room - before, "%s", separator);
    va_start(arguments, format);
    length = used < room ? vsnprintf(reasons->text + used, room - used, format, arguments) : -1;
    va_end(arguments);
    if (length >= 0 && (size_t)length < room - used)
        return;
    reasons->text[before] = '\0';
    reasons->n_more++;
}

void hm_reasons_end(struct hm_reasons *reasons)
{
    size_t used = strlen(reasons->text), room = reasons->size - used;
    if (reasons->n_more > 0 && used > 0)
        snprintf(reasons->text + used, room, "; and %d more", reasons->n_more);
    else if (reasons->n_more > 0)
        snprintf(reasons->text, room, "%d %s too long to be kept", reasons->n_more,
                 hm_plural((uint64_t)reasons->n_more, "reason that is", "reasons that are"));
}
