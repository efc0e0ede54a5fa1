/* SPDX-License-Identifier: Apache-2.0 */
#include "size.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define N_ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit sizes[] = {
    {"", 1}, {"K", UINT64_C(1) << 10}, {"M", UINT64_C(1) << 20}, {"G", UINT64_C(1) << 30}, {"T", UINT64_C(1) << 40}};
static const struct unit durations[] = {{"ms", 1}, {"s", 1000}, {"min", 60 * 1000}, {"h", 3600 * 1000}};

/* Parse digits and one of these units. Returns 0, EINVAL or ERANGE. */
static int parse_with_unit(const char *text, const struct unit *units, int n_units, uint64_t *value)
{
    uint64_t number = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
            return ERANGE;
    if (at == text)
        return EINVAL;
    for (int i = 0; i < n_units; i++)
        if (strcmp(at, units[i].name) == 0)
            return __builtin_mul_overflow(number, units[i].factor, value) ? ERANGE : 0;
    return EINVAL;
}

int hm_size_parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number, struct hm_error *error)
{
    int status = parse_with_unit(text, sizes, 1, number);
    if (status == 0 && (*number < least || *number > most))
        status = ERANGE;
    if (status)
        return hm_fail(error, status, "\"%.40s\" is not a number of %llu to %llu", text, (unsigned long long)least,
                       (unsigned long long)most);
    return 0;
}

int hm_size_parse(const char *text, uint64_t *bytes, struct hm_error *error)
{
    int status = parse_with_unit(text, sizes, N_ROWS(sizes), bytes);
    if (status == ERANGE)
        return hm_fail(error, ERANGE, "\"%.40s\" is too large: sizes are below 2^64 bytes (16777216T)", text);
    if (status)
        return hm_fail(error, EINVAL, "\"%.40s\" is not a size: write digits and K, M, G or T, as in 64G", text);
    return 0;
}

int hm_size_parse_one_in(const char *text, uint64_t least, uint64_t most, uint64_t *number, struct hm_error *error)
{
    const size_t before = strlen("1/");
    if (strncmp(text, "1/", before) == 0 && hm_size_parse_number(text + before, least, most, number, NULL) == 0)
        return 0;
    return hm_fail(error, EINVAL, "\"%.40s\" is no rate: write 1/N with N from %llu to %llu, as in 1/4096", text,
                   (unsigned long long)least, (unsigned long long)most);
}

int hm_size_parse_duration(const char *text, uint64_t *milliseconds, struct hm_error *error)
{
    int status = parse_with_unit(text, durations, N_ROWS(durations), milliseconds);
    if (status == ERANGE)
        return hm_fail(error, ERANGE, "\"%.40s\" is too long a time", text);
    if (status && *text && !text[strspn(text, "0123456789")])
        return hm_fail(error, EINVAL, "\"%.40s\" has no unit: write ms, s, min or h after it, as in 10s", text);
    if (status)
        return hm_fail(error, EINVAL, "\"%.40s\" is not a time: write digits and ms, s, min or h, as in 10s", text);
    return 0;
}

/* Read digits into *value, at most nine of them. Returns how many, or -1 when there are more. */
static int read_digits(const char **at, uint64_t *value)
{
    int count = 0;
    for (; **at >= '0' && **at <= '9'; ++*at, count++) {
        if (count == 9)
            return -1;
        *value = *value * 10 + (uint64_t)(**at - '0');
    }
    return count;
}

/* Parse digits, optional decimals, and the unit. Returns 0 or -1. */
static int parse_decimal(const char *text, const char *unit, double *value)
{
    const char *at = text;
    uint64_t whole = 0, fraction = 0;
    double scale = 1;
    int digits = read_digits(&at, &whole);
    int decimals = 0;
    if (digits > 0 && *at == '.') {
        at++;
        decimals = read_digits(&at, &fraction);
        for (int i = 0; i < decimals; i++)
            scale *= 10;
        if (decimals == 0)
            digits = -1;
    }
    if (digits <= 0 || decimals < 0 || strcmp(at, unit) != 0)
        return -1;
    *value = (double)whole + (double)fraction / scale;
    return 0;
}

int hm_size_parse_amount(const char *text, const char *unit, double *amount, struct hm_error *error)
{
    if (parse_decimal(text, unit, amount) < 0)
        return hm_fail(error, EINVAL, "\"%.40s\" is not a number of %s: write the number and %s, as in 2.5%s", text,
                       unit, unit, unit);
    return 0;
}

int hm_size_parse_percent(const char *text, double *percent, struct hm_error *error)
{
    if (parse_decimal(text, "%", percent) < 0)
        return hm_fail(error, EINVAL, "\"%.40s\" is not a percentage: write a number and %%, as in 2.5%%", text);
    if (*percent > 100)
        return hm_fail(error, ERANGE, "\"%.40s\" is more than 100%%", text);
    return 0;
}

char *hm_size_format(uint64_t bytes, char *out, size_t size)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    int unit = -1;
    /* With one decimal, 1023.95 and more would be printed as 1024.0: take the next unit. */
    while (value >= (unit < 0 ? 1024 : 1023.95) && unit + 1 < N_ROWS(units)) {
        value /= 1024;
        unit++;
    }
    if (unit < 0)
        snprintf(out, size, "%llu B", (unsigned long long)bytes);
    else
        snprintf(out, size, "%.1f %s", value, units[unit]);
    return out;
}
