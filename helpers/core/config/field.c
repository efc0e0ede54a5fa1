/* SPDX-License-Identifier: Apache-2.0 */
#include "field.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"

#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

int hm_field_choice(const struct hm_field *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    char list[128] = "";
    (void)is_first;
    for (int i = 0; row->choices[i]; i++) {
        size_t used = strlen(list);
        if (strcmp(value, row->choices[i]) == 0) {
            int chosen = i + (int)row->least;
            memcpy(field, &chosen, sizeof(chosen));
            return 0;
        }
        snprintf(list + used, sizeof(list) - used, "%s%s",
                 i == 0                ? ""
                 : row->choices[i + 1] ? ", "
                                       : " or ",
                 row->choices[i]);
    }
    return hm_fail(error, EINVAL, "\"%.40s\" is not one of its values: use %s", value, list);
}

int hm_field_yes_no(const struct hm_field *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    (void)row, (void)is_first;
    if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
        return hm_fail(error, EINVAL, "\"%.40s\" is not one of its values: use yes or no", value);
    *(bool *)field = value[0] == 'y';
    return 0;
}

int hm_field_name(const struct hm_field *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    (void)is_first;
    size_t length = strlen(value);
    if (length == 0 || length >= row->most || value[strspn(value, NAME_BYTES)] != '\0')
        return hm_fail(error, EINVAL, "\"%.80s\" is not a name: use 1 to %u letters, digits, dots, - and _", value,
                       (unsigned)row->most - 1);
    memcpy(field, value, length + 1);
    return 0;
}

int hm_field_folder(const struct hm_field *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    (void)is_first;
    size_t length = strlen(value);
    if (value[0] != '/')
        return hm_fail(error, EINVAL, "\"%.80s\" is a relative path: write it from / on", value);
    if (strstr(value, "/../") || (length >= 3 && strcmp(value + length - 3, "/..") == 0))
        return hm_fail(error, EINVAL, "\"%.80s\" goes through ..: write the path without it", value);
    if (length >= row->most)
        return hm_fail(error, EINVAL, "\"%.80s...\" is too long: a path here has at most %u characters", value,
                       (unsigned)row->most - 1);
    memcpy(field, value, length + 1);
    return 0;
}

/* Milliseconds, or seconds where the row's range is in seconds: see the table. */
static int set_duration(const struct hm_field *row, void *field, const char *value, struct hm_error *error,
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

int hm_field_milliseconds(const struct hm_field *row, void *field, const char *value, bool is_first,
                          struct hm_error *error)
{
    (void)is_first;
    return set_duration(row, field, value, error, 1);
}

int hm_field_seconds(const struct hm_field *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    (void)is_first;
    return set_duration(row, field, value, error, 1000);
}

int hm_field_percent(const struct hm_field *row, void *field, const char *value, bool is_first, struct hm_error *error)
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

/* 0.001 to row->most: 0 stands for a figure that is not said, and with less `config show` would need an exponent. */
int hm_field_amount(const struct hm_field *row, void *field, const char *value, bool is_first, struct hm_error *error)
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

int hm_field_number(const struct hm_field *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    (void)is_first;
    return hm_size_parse_number(value, row->least, row->most, field, error);
}

int hm_field_size(const struct hm_field *row, void *field, const char *value, bool is_first, struct hm_error *error)
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

int hm_field_modes(const struct hm_field *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    struct hm_request request;
    (void)row;
    int mode = hm_mode_find(value, strlen(value));
    if (mode >= 0) {
        *(unsigned *)field = (is_first ? 0 : *(unsigned *)field) | 1u << mode;
        return 0;
    }
    /* Not an available mode: the parser knows why. A text with a comma is a request, but no mode. */
    if (hm_request_parse(value, &request, error) == 0)
        hm_fail(error, EINVAL, "\"%.40s\" is not a mode: write modes without keys, as in { spill, fast }", value);
    return -1;
}

int hm_field_request(const struct hm_field *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    struct hm_request request;
    (void)row, (void)is_first;
    if (hm_request_parse(value, &request, error) < 0)
        return -1;
    const char *why = hm_request_mode(&request)->no_default;
    if (why)
        return hm_fail(error, EINVAL, "\"%.40s\" cannot be a default: %s", value, why);
    memcpy(field, request.text, sizeof(request.text));
    return 0;
}

int hm_field_migrate(const struct hm_field *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    struct hm_config_migrate *migrate = field;
    (void)row, (void)is_first;
    if (hm_request_parse_keys(value, &migrate->keys, error) < 0)
        return -1;
    snprintf(migrate->text, sizeof(migrate->text), "%s", value);
    return 0;
}

int hm_field_nodes(const struct hm_field *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    struct hm_set *nodes = field;
    (void)row, (void)is_first;
    if (hm_set_parse(nodes, value, error) < 0)
        return -1;
    if (hm_set_is_empty(nodes))
        return hm_fail(error, EINVAL, "the list of nodes is empty: write NUMA node numbers, as in \"0-1\"");
    return 0;
}
