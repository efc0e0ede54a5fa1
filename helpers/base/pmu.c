/* SPDX-License-Identifier: Apache-2.0 */
#include "pmu.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "size.h"

#define DIGITS "0123456789"
#define NAME "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_" DIGITS

/* Copy the word before `stop` into `out`, and move *rest past `stop`. Where there is no `stop`, the word is all that is
 * left, and *rest becomes NULL. Returns 0, or -1 where the word does not fit. */
static int next_word(const char **rest, char stop, char *out, size_t size)
{
    const char *end = strchr(*rest, stop);
    size_t length = end ? (size_t)(end - *rest) : strlen(*rest);
    if (length >= size)
        return -1;
    memcpy(out, *rest, length);
    out[length] = '\0';
    *rest = end ? end + 1 : NULL;
    return 0;
}

/* Parse "0-7" or "3", numbers below 64. Returns 0, or -1. */
static int parse_range(const char *text, uint64_t *first, uint64_t *last)
{
    char word[16];
    const char *rest = text;
    if (next_word(&rest, '-', word, sizeof(word)) != 0 || hm_size_parse_number(word, 0, 63, first, NULL) != 0)
        return -1;
    *last = *first;
    return rest ? hm_size_parse_number(rest, *first, 63, last, NULL) : 0;
}

int hm_pmu_parse_format(const char *text, struct hm_pmu_format *format, struct hm_error *error)
{
    static const char *const words[HM_PMU_WORDS] = {"config", "config1", "config2", "config3"};
    char word[16];
    const char *rest = text;
    *format = (struct hm_pmu_format){0};
    if (next_word(&rest, ':', word, sizeof(word)) != 0 || !rest)
        goto wrong;
    while (format->word < HM_PMU_WORDS && strcmp(words[format->word], word) != 0)
        format->word++;
    if (format->word == HM_PMU_WORDS)
        goto wrong;
    while (rest) {
        uint64_t first, last;
        if (format->n_ranges == HM_PMU_RANGES || next_word(&rest, ',', word, sizeof(word)) != 0 ||
            parse_range(word, &first, &last) != 0)
            goto wrong;
        format->range[format->n_ranges].first = (unsigned char)first;
        format->range[format->n_ranges++].last = (unsigned char)last;
    }
    return 0;
wrong:
    return hm_fail(error, EINVAL,
                   "\"%.64s\" is no format: config, config1, config2 or config3 with its bits, as in config:0-7,32",
                   text);
}

int hm_pmu_put(struct hm_pmu_config *config, const struct hm_pmu_format *format, uint64_t value, struct hm_error *error)
{
    uint64_t left = value;
    for (unsigned i = 0; i < format->n_ranges; i++) {
        unsigned first = format->range[i].first, width = format->range[i].last - first + 1;
        uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
        config->word[format->word] = (config->word[format->word] & ~(mask << first)) | (left & mask) << first;
        left = width == 64 ? 0 : left >> width;
    }
    if (left == 0)
        return 0;
    return hm_fail(error, ERANGE, "0x%llx has more bits than the format", (unsigned long long)value);
}

/* Parse a decimal number or 0x... . Returns 0, or -1. */
static int parse_value(const char *text, uint64_t *value)
{
    char *end;
    if (strncmp(text, "0x", 2) != 0)
        return hm_size_parse_number(text, 0, UINT64_MAX, value, NULL);
    if (!text[2] || strspn(text + 2, DIGITS "abcdefABCDEF") != strlen(text + 2) || strlen(text) > 18)
        return -1;
    *value = strtoull(text + 2, &end, 16);
    return 0;
}

static int put_term(const char *term, hm_pmu_look_up *look_up, void *data, struct hm_pmu_config *config,
                    struct hm_error *error)
{
    char name[64], text[HM_PMU_TEXT];
    const char *rest = term;
    struct hm_pmu_format format;
    struct hm_error why = {""};
    uint64_t value = 1;
    if (next_word(&rest, '=', name, sizeof(name)) != 0 || !*name || strspn(name, NAME) != strlen(name) ||
        (rest && parse_value(rest, &value) != 0))
        return hm_fail(error, EINVAL, "\"%.64s\" is no term of an event: write NAME, or NAME=NUMBER", term);
    if (look_up(data, name, text) != 0)
        return hm_fail(error, EINVAL, "the PMU has no format for the term \"%s\"", name);
    if (hm_pmu_parse_format(text, &format, &why) != 0 || hm_pmu_put(config, &format, value, &why) != 0)
        return hm_fail(error, errno, "term \"%s\": %s", name, why.text);
    return 0;
}

int hm_pmu_parse_event(const char *text, hm_pmu_look_up *look_up, void *data, struct hm_pmu_config *config,
                       struct hm_error *error)
{
    char term[96];
    const char *rest = text;
    *config = (struct hm_pmu_config){0};
    while (rest) {
        if (next_word(&rest, ',', term, sizeof(term)) != 0)
            return hm_fail(error, EINVAL, "\"%.64s\" has a term that is too long", text);
        if (put_term(term, look_up, data, config, error) != 0)
            return -1;
    }
    return 0;
}

int hm_pmu_parse_scale(const char *text, double *scale, struct hm_error *error)
{
    char *end = NULL;
    if (*text && strspn(text, DIGITS ".eE+-") == strlen(text) && strlen(text) < HM_PMU_TEXT)
        *scale = strtod(text, &end);
    if (end && !*end && isfinite(*scale) && *scale > 0)
        return 0;
    return hm_fail(error, EINVAL, "\"%.64s\" is no scale: a decimal number above 0", text);
}
