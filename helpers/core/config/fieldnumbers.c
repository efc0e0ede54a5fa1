/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the values of hybridmem.conf that are numbers, with and without a unit (field.h). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "field.h"

/* Read a time. The row's range, and the number stored, are in units of `unit_ms`. */
static int set_duration(const struct hm_configfield *row, void *field, const char *value, struct hm_error *error,
                        unsigned unit_ms)
{
    uint64_t milliseconds;
    if (hm_size_parse_duration(value, &milliseconds, error) < 0)
        return -1;
    uint64_t number = milliseconds / unit_ms;
    if (milliseconds % unit_ms || number < row->least || number > row->most)
        return hm_fail(error, ERANGE, "\"%.40s\" is out of range: use %llu to %llu %s", value,
                       (unsigned long long)row->least, (unsigned long long)row->most,
                       unit_ms == 1 ? "ms" : "whole seconds");
    *(unsigned *)field = (unsigned)number;
    return 0;
}

static int read_milliseconds(const struct hm_configfield *row, void *field, const char *value, bool is_first,
                             struct hm_error *error)
{
    (void)is_first;
    return set_duration(row, field, value, error, 1);
}

static bool write_milliseconds(const struct hm_configfield *row, const void *field, char *out, size_t size)
{
    (void)row;
    snprintf(out, size, "%ums", *(const unsigned *)field);
    return true;
}

static int read_seconds(const struct hm_configfield *row, void *field, const char *value, bool is_first,
                        struct hm_error *error)
{
    (void)is_first;
    return set_duration(row, field, value, error, 1000);
}

static bool write_seconds(const struct hm_configfield *row, const void *field, char *out, size_t size)
{
    (void)row;
    snprintf(out, size, "%us", *(const unsigned *)field);
    return true;
}

static int read_percent(const struct hm_configfield *row, void *field, const char *value, bool is_first,
                        struct hm_error *error)
{
    double percent;
    (void)is_first;
    if (hm_size_parse_percent(value, &percent, error) < 0)
        return -1;
    if (percent > (double)row->most)
        return hm_fail(error, ERANGE, "\"%.40s\" is out of range: use 0%% to %u%%", value, (unsigned)row->most);
    *(double *)field = percent;
    return 0;
}

static bool write_percent(const struct hm_configfield *row, const void *field, char *out, size_t size)
{
    (void)row;
    snprintf(out, size, "%.9g%%", *(const double *)field);
    return true;
}

/* The least amount is 0.001: 0 means "not given", and write_amount would write a very small amount with an exponent,
 * which the parser refuses. */
static int read_amount(const struct hm_configfield *row, void *field, const char *value, bool is_first,
                       struct hm_error *error)
{
    double amount;
    const char *unit = row->choices[0];
    (void)is_first;
    if (hm_size_parse_amount(value, unit, &amount, error) < 0)
        return -1;
    if (amount < 0.001 || amount > (double)row->most)
        return hm_fail(error, ERANGE, "\"%.40s\" is out of range: use 0.001%s to %u%s", value, unit,
                       (unsigned)row->most, unit);
    *(double *)field = amount;
    return 0;
}

static bool write_amount(const struct hm_configfield *row, const void *field, char *out, size_t size)
{
    double amount = *(const double *)field;
    snprintf(out, size, "\"%.9g%s\"", amount, row->choices[0]);
    return amount > 0;
}

static int read_number(const struct hm_configfield *row, void *field, const char *value, bool is_first,
                       struct hm_error *error)
{
    (void)is_first;
    return hm_size_parse_number(value, row->least, row->most, field, error);
}

/* 0 means that no value was given. */
static bool write_number(const struct hm_configfield *row, const void *field, char *out, size_t size)
{
    uint64_t number = *(const uint64_t *)field;
    (void)row;
    snprintf(out, size, "%" PRIu64, number);
    return number > 0;
}

static int read_size(const struct hm_configfield *row, void *field, const char *value, bool is_first,
                     struct hm_error *error)
{
    uint64_t bytes;
    char least[24], most[24];
    (void)is_first;
    if (hm_size_parse(value, &bytes, error) < 0)
        return -1;
    if (bytes < row->least || bytes > row->most)
        return hm_fail(error, ERANGE, "\"%.40s\" is out of range: use %s to %s", value,
                       hm_size_format(row->least, least, sizeof(least)), hm_size_format(row->most, most, sizeof(most)));
    memcpy(field, &bytes, sizeof(bytes));
    return 0;
}

const struct hm_configfield_kind hm_field_milliseconds = {read_milliseconds, write_milliseconds};
const struct hm_configfield_kind hm_field_seconds = {read_seconds, write_seconds};
const struct hm_configfield_kind hm_field_percent = {read_percent, write_percent};
const struct hm_configfield_kind hm_field_amount = {read_amount, write_amount};
const struct hm_configfield_kind hm_field_number = {read_number, write_number};
const struct hm_configfield_kind hm_field_size = {read_size, write_number};
