/* SPDX-License-Identifier: Apache-2.0 */
#include "take.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"

void hm_take_fail(struct hm_taker *taker, const char *key, const char *wanted)
{
    if (!taker->has_failed)
        hm_fail(taker->error, EBADMSG, "%s: %s%s has to be %s", taker->path, taker->place, key, wanted);
    taker->has_failed = true;
}

json_t *hm_take_all(struct hm_taker *taker, const char *text, size_t length, const char *what)
{
    json_error_t why;
    json_t *all = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    if (json_is_object(all))
        return all;
    json_decref(all);
    taker->has_failed = hm_fail(taker->error, EBADMSG, "%s: no %s, as it is not a JSON object", taker->path, what) < 0;
    return NULL;
}

void hm_take_fail_memory(struct hm_taker *taker)
{
    taker->has_failed = hm_fail(taker->error, ENOMEM, "out of memory") < 0;
}

int64_t hm_take_count(struct hm_taker *taker, const json_t *from, const char *key, int64_t least, int64_t most)
{
    char wanted[80];
    const json_t *value = json_object_get(from, key);
    json_int_t number = json_integer_value(value);
    if (json_is_integer(value) && number >= least && number <= most)
        return number;
    snprintf(wanted, sizeof(wanted), "a whole number from %lld to %lld", (long long)least, (long long)most);
    hm_take_fail(taker, key, wanted);
    return 0;
}

uint64_t hm_take_count_or_null(struct hm_taker *taker, const json_t *from, const char *key, int64_t least)
{
    const json_t *value = json_object_get(from, key);
    return json_is_null(value) ? 0 : (uint64_t)hm_take_count(taker, from, key, least, HM_PROFILE_MOST);
}

double hm_take_real(struct hm_taker *taker, const json_t *from, const char *key)
{
    const json_t *value = json_object_get(from, key);
    double number = json_number_value(value);
    if (json_is_number(value) && number >= 0 && number <= (double)HM_PROFILE_MOST)
        return number;
    hm_take_fail(taker, key, "a number that is not negative");
    return 0;
}

double hm_take_real_or_null(struct hm_taker *taker, const json_t *from, const char *key)
{
    return json_is_null(json_object_get(from, key)) ? NAN : hm_take_real(taker, from, key);
}

char *hm_take_text(struct hm_taker *taker, const json_t *from, const char *key, bool may_be_null)
{
    const json_t *value = json_object_get(from, key);
    if (may_be_null && json_is_null(value))
        return NULL;
    if (json_is_string(value) && json_string_length(value) < HM_PROFILE_TEXT) {
        char *text = strdup(json_string_value(value));
        if (!text && !taker->has_failed)
            hm_take_fail_memory(taker);
        return text;
    }
    hm_take_fail(taker, key, "a text of less than 4096 bytes");
    return NULL;
}

bool hm_take_is_control(const char *at)
{
    unsigned char byte = (unsigned char)at[0];
    return byte < 0x20 || byte == 0x7f || (byte == 0xc2 && (unsigned char)at[1] >= 0x80 && (unsigned char)at[1] < 0xa0);
}

char *hm_take_line(struct hm_taker *taker, const json_t *from, const char *key, bool may_be_null)
{
    char *text = hm_take_text(taker, from, key, may_be_null);
    for (const char *at = text; at && *at; at++)
        if (hm_take_is_control(at))
            hm_take_fail(taker, key, "one line without control characters");
    return text;
}

const json_t *hm_take_object(struct hm_taker *taker, const json_t *from, const char *key)
{
    const json_t *value = json_object_get(from, key);
    if (!json_is_object(value))
        hm_take_fail(taker, key, "an object");
    return value;
}

void *hm_take_array(struct hm_taker *taker, const json_t *from, const char *key, size_t most, size_t size, size_t *n)
{
    char wanted[80];
    const json_t *value = json_object_get(from, key);
    *n = json_array_size(value);
    if (!json_is_array(value) || *n > most) {
        snprintf(wanted, sizeof(wanted), "an array of at most %zu objects", most);
        hm_take_fail(taker, key, wanted);
        *n = 0;
    }
    void *room = *n > 0 ? calloc(*n, size) : NULL;
    if (*n > 0 && !room) {
        hm_take_fail_memory(taker);
        *n = 0;
    }
    return room;
}

bool hm_take_is_hexadecimal(const char *text)
{
    return *text && strspn(text, "0123456789abcdef") == strlen(text);
}

char *hm_take_build_id(struct hm_taker *taker, const json_t *from)
{
    char *text = hm_take_text(taker, from, "build_id", true);
    if (text && !hm_take_is_hexadecimal(text))
        hm_take_fail(taker, "build_id", "lower-case hexadecimal digits, or null");
    return text;
}
