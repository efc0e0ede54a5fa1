/* SPDX-License-Identifier: Apache-2.0 */
/* Reads fields from text. */
#include "fieldsparts.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "size.h"

static int read_hex(char byte)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = byte ? strchr(digits, byte) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* Read the escape after a backslash at *from, and move *from past it. Returns the byte, or 0 where it is no escape. */
static char read_escape(const char **from)
{
    const char *at = *from;
    int high, low;
    if (*at == '\\' || *at == 'n') {
        *from += 1;
        return *at == 'n' ? '\n' : '\\';
    }
    if (*at != 'x' || (high = read_hex(at[1])) < 0 || (low = read_hex(at[2])) < 0)
        return '\0';
    *from += 3;
    return (char)(high * 16 + low);
}

/* Fill the whole field: the text, and zeros after it. */
static bool read_text(const char *from, char *to, size_t size)
{
    size_t used = 0;
    memset(to, 0, size);
    while (*from) {
        char byte = *from++;
        if (byte == '\\' && (byte = read_escape(&from)) == '\0')
            return false;
        if (used + 1 >= size)
            return false;
        to[used++] = byte;
    }
    return true;
}

static bool read_bool(const char *word, void *to)
{
    bool value = strcmp(word, "yes") == 0;
    memcpy(to, &value, sizeof(value));
    return value || strcmp(word, "no") == 0;
}

static bool read_unsigned(const char *word, void *to, size_t size)
{
    uint64_t number, most = size == 8 ? UINT64_MAX : (UINT64_C(1) << size * 8) - 1;
    if (hm_size_parse_number(word, 0, most, &number, NULL) != 0)
        return false;
    memcpy(to, &number, size);
    return true;
}

static bool read_signed(const char *word, void *to, size_t size)
{
    bool is_negative = word[0] == '-';
    uint64_t number, most = ((UINT64_C(1) << (size * 8 - 1)) - 1) + is_negative;
    if (hm_size_parse_number(word + is_negative, 0, most, &number, NULL) != 0)
        return false;
    number = is_negative ? -number : number;
    memcpy(to, &number, size);
    return true;
}

static bool read_real(const char *word, void *to)
{
    char *end;
    locale_t plain = newlocale(LC_ALL_MASK, "C", NULL);
    double value = strtod_l(word, &end, plain);
    freelocale(plain);
    memcpy(to, &value, sizeof(value));
    return end != word && *end == '\0' && isfinite(value);
}

static bool read_word(const char *word, const char *const *words, void *to)
{
    for (uint32_t i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0) {
            memcpy(to, &i, sizeof(i));
            return true;
        }
    return false;
}

static bool read_value(const struct hm_field *field, const char *value, void *to)
{
    switch (field->type) {
    case HM_FIELD_BOOL:
        return read_bool(value, to);
    case HM_FIELD_UNSIGNED:
        return read_unsigned(value, to, field->size);
    case HM_FIELD_SIGNED:
        return read_signed(value, to, field->size);
    case HM_FIELD_REAL:
        return read_real(value, to);
    case HM_FIELD_TEXT:
        return read_text(value, to, field->size);
    case HM_FIELD_SET:
        return hm_set_parse(to, value, NULL) == 0;
    case HM_FIELD_WORD:
        return read_word(value, field->words, to);
    default:
        return false;
    }
}

/* Fill the whole list: the places in the line, and zeros after them. */
static bool read_line_list(const struct hm_field *field, char *words, char *to)
{
    memset(to, 0, field->places * field->size);
    for (uint32_t place = 0; *words; place++) {
        char *end = words + strcspn(words, " ");
        bool is_last = *end == '\0';
        *end = '\0';
        if (place == field->places || !read_value(field, words, to + place * field->size))
            return false;
        words = is_last ? end : end + 1;
    }
    return true;
}

/* Read one line, "path" or "path value", which is terminated. */
static int read_line(const struct hm_fields *fields, char *line, char *into, struct hm_field_mark *marks,
                     struct hm_error *error)
{
    struct hm_field_spot spot;
    size_t length = strcspn(line, " ");
    char *value = line + length + (line[length] == ' ');
    hm_field_follow(fields->table, into, line, length, marks, &spot);
    if (!spot.field)
        return 0;
    char *to = into + spot.offset;
    bool is_read = spot.field->places && hm_field_is_line(spot.field) ? read_line_list(spot.field, value, to)
                                                                      : read_value(spot.field, value, to);
    return is_read ? 0 : hm_fail(error, EBADMSG, "%.*s is out of range", (int)length, line);
}

int hm_fields_parse(const struct hm_fields *fields, char *text, void *value, struct hm_error *error)
{
    char first[HM_FIELD_PATH];
    struct hm_field_mark marks[HM_FIELD_DEPTH] = {{0}};
    int length = snprintf(first, sizeof(first), HM_FIELDS_FIRST, fields->title);
    if (strncmp(text, first, (size_t)length) != 0)
        return hm_fail(error, EBADMSG, "its version is not one that this hybridmem knows, or it is torn");
    for (char *line = text + length; strcmp(line, HM_FIELDS_LAST) != 0;) {
        char *end = strchr(line, '\n');
        if (!end)
            return hm_fail(error, EBADMSG, "it is torn");
        *end = '\0';
        if (read_line(fields, line, value, marks, error) != 0)
            return -1;
        line = end + 1;
    }
    return hm_fields_check(fields->table, value, error);
}
