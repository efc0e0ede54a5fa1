/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
    [HM_LOG_ERROR] = "error: ",
    [HM_LOG_WARNING] = "warning: ",
    [HM_LOG_INFO] = "info: ",
    [HM_LOG_DEBUG] = "debug: ",
};

static enum hm_log_level highest = HM_LOG_INFO;

void hm_log_set_level(enum hm_log_level level)
{
    highest = level;
}

void hm_log(enum hm_log_level level, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    if (level > highest)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s%s\n", names[level], text);
}

enum hm_log_level hm_log_parse(const char *line, const char **text)
{
    for (unsigned level = HM_LOG_ERROR; level <= HM_LOG_DEBUG; level++) {
        size_t length = strlen(names[level]);
        if (strncmp(line, names[level], length) == 0) {
            *text = line + length;
            return (enum hm_log_level)level;
        }
    }
    *text = line;
    return HM_LOG_ERROR;
}
