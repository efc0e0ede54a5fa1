/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the fields of a structure by its table (fields.h), and finds fields by their paths. */
#include "fieldsparts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool hm_field_is_line(const struct hm_field *field)
{
    return field->type != HM_FIELD_TEXT && field->type != HM_FIELD_SET && field->type != HM_FIELD_GROUP;
}

static uint32_t read_count(const struct hm_field *field, const void *value)
{
    uint32_t count; /* an int below 0 becomes a number larger than any list */
    memcpy(&count, (const char *)value + field->count_at, sizeof(count));
    return count;
}

uint32_t hm_field_used(const struct hm_field *field, const void *value)
{
    uint32_t count = field->is_counted ? read_count(field, value) : field->places;
    return count < field->places ? count : field->places;
}

static bool is_zero(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

bool hm_field_is_used(const struct hm_field *field, const void *value, uint32_t place)
{
    const unsigned char *bytes = (const unsigned char *)value + field->offset + place * field->size;
    return place < hm_field_used(field, value) && (field->is_counted || !is_zero(bytes, field->size));
}

static bool is_word(const struct hm_field *field, const void *value)
{
    uint32_t number;
    memcpy(&number, value, sizeof(number));
    for (uint32_t i = 0; field->words[i]; i++)
        if (i == number)
            return true;
    return false;
}

static bool is_at_most(const struct hm_field *field, const void *value)
{
    uint64_t number = 0;
    memcpy(&number, value, field->size); /* into the low bytes: little-endian machines only */
    return field->most == 0 || number <= field->most;
}

static bool is_right(const struct hm_field *field, const void *value)
{
    double real;
    switch (field->type) {
    case HM_FIELD_BOOL: /* any byte may be stored here, and to read it as a bool would be undefined */
        if (*(const unsigned char *)value > 1)
            return false;
        break;
    case HM_FIELD_UNSIGNED:
        if (!is_at_most(field, value))
            return false;
        break;
    case HM_FIELD_REAL:
        memcpy(&real, value, sizeof(real));
        if (!isfinite(real))
            return false;
        break;
    case HM_FIELD_TEXT:
        if (!memchr(value, '\0', field->size))
            return false;
        break;
    case HM_FIELD_WORD:
        if (!is_word(field, value))
            return false;
        break;
    default:
        break;
    }
    return !field->is_right || field->is_right(value);
}

/* Find the first field with a bad value. Returns it, or NULL. `path` gets the path before the field's name. */
static const struct hm_field *find_bad(const struct hm_field *table, const void *value, char *path, size_t size)
{
    for (const struct hm_field *field = table; field->name; field++) {
        uint32_t used = field->places ? hm_field_used(field, value) : 1;
        if (field->is_counted && !field->may_exceed && read_count(field, value) > field->places)
            return field;
        for (uint32_t i = 0; i < used; i++) {
            const char *at = (const char *)value + field->offset + i * field->size;
            if (field->type != HM_FIELD_GROUP) {
                if (!is_right(field, at))
                    return field;
                continue;
            }
            size_t length = strlen(path);
            if (field->places)
                snprintf(path + length, size - length, "%s.%u.", field->name, i);
            else
                snprintf(path + length, size - length, "%s.", field->name);
            const struct hm_field *bad = find_bad(field->fields, at, path, size);
            if (bad)
                return bad;
            path[length] = '\0';
        }
    }
    return NULL;
}

int hm_fields_check(const struct hm_field *table, const void *value, struct hm_error *error)
{
    char path[HM_FIELD_PATH] = "";
    const struct hm_field *bad = find_bad(table, value, path, sizeof(path));
    return bad ? hm_fail(error, EBADMSG, "%s%s is out of range", path, bad->name) : 0;
}

/* Read the number of a place at *path, which ends at `end`, and move *path past it. Returns the number, or `places`
 * where there is none or it is too large. */
static uint32_t read_place(const char **path, const char *end, uint32_t places)
{
    uint32_t place = 0;
    const char *digit = *path;
    for (; digit < end && *digit >= '0' && *digit <= '9' && place < places; digit++)
        place = place * 10 + (uint32_t)(*digit - '0');
    if (digit == *path || place > places)
        place = places;
    *path = digit;
    return place;
}

static bool is_named(const struct hm_field *field, const char *name, size_t length)
{
    return field->name[0] == name[0] && strncmp(field->name, name, length) == 0 && field->name[length] == '\0';
}

/* Find the row of this name, from the marked one on, and then before it. Mark it. */
static const struct hm_field *find_row(const struct hm_field *table, const char *name, size_t length,
                                       struct hm_field_mark *mark)
{
    const struct hm_field *first = mark->table == table ? mark->row : table, *field = first;
    while (field->name && !is_named(field, name, length))
        field++;
    if (!field->name)
        for (field = table; field != first && !is_named(field, name, length);)
            field++;
    if (!field->name || !is_named(field, name, length))
        return NULL;
    *mark = (struct hm_field_mark){table, field};
    return field;
}

void hm_field_follow(const struct hm_field *table, const void *value, const char *path, size_t length,
                     struct hm_field_mark *marks, struct hm_field_spot *spot)
{
    const char *end = path + length;
    struct hm_field_mark none = {0};
    *spot = (struct hm_field_spot){.is_used = true};
    for (int depth = 0;; depth++) {
        const char *dot = memchr(path, '.', (size_t)(end - path));
        size_t word = (size_t)((dot ? dot : end) - path);
        const struct hm_field *field = find_row(table, path, word, depth < HM_FIELD_DEPTH ? &marks[depth] : &none);
        if (!field)
            return;
        const char *group = (const char *)value + spot->offset;
        spot->offset += field->offset;
        path += word;
        if (field->places && !hm_field_is_line(field)) {
            if (path == end)
                return;
            path++;
            uint32_t place = read_place(&path, end, field->places);
            spot->is_used = spot->is_used && hm_field_is_used(field, group, place);
            if (place == field->places)
                return;
            spot->offset += place * field->size;
        }
        if (field->type != HM_FIELD_GROUP) {
            spot->field = path == end ? field : NULL;
            return;
        }
        if (path == end || *path != '.')
            return;
        path++;
        table = field->fields;
    }
}

const char *hm_fields_find(const char *text, const char *path)
{
    size_t length = strlen(path);
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line ? 1 : 0)
        if (strncmp(line, path, length) == 0 && line[length] == ' ')
            return line + length + 1;
    return NULL;
}
