/* SPDX-License-Identifier: Apache-2.0 */
#include "attribute.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "base/files.h"
#include "base/size.h"

#define BUSY_PAUSE_NS 5000000L
#define BUSY_TRIES 200 /* 1 s */
#define NUMBER 24      /* bytes of a number's text */

/*
 * Did the call fail with EBUSY, and is there a try left? Then this waits before it returns. The kernel does not wait
 * for its lock: while one process reads or writes one of these files, others get EBUSY.
 */
static bool is_busy(int tries)
{
    const struct timespec pause = {.tv_nsec = BUSY_PAUSE_NS};
    return errno == EBUSY && tries < BUSY_TRIES && nanosleep(&pause, NULL) == 0;
}

int hm_damon_attribute_write_text(const char *file, const char *text, struct hm_error *error)
{
    char path[256];
    snprintf(path, sizeof(path), HM_DAMON_ROOT "/%s", file);
    int result = hm_file_write(path, text, error);
    for (int tries = 0; result != 0 && is_busy(tries); tries++)
        result = hm_file_write(path, text, error);
    return result;
}

int hm_damon_attribute_write(unsigned k, uint64_t value, struct hm_error *error, const char *format, ...)
{
    char file[192], text[NUMBER];
    int length = snprintf(file, sizeof(file), "%u/", k);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(file + length, sizeof(file) - (size_t)length, format, arguments);
    va_end(arguments);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    return hm_damon_attribute_write_text(file, text, error);
}

int hm_damon_attribute_read(const char *file, uint64_t *value)
{
    char path[256], text[NUMBER];
    snprintf(path, sizeof(path), HM_DAMON_ROOT "/%s", file);
    int result = hm_file_read(path, text, sizeof(text), NULL);
    for (int tries = 0; result != 0 && is_busy(tries); tries++)
        result = hm_file_read(path, text, sizeof(text), NULL);
    if (result != 0)
        return -1;
    return hm_size_parse_number(text, 0, UINT64_MAX, value, NULL);
}
