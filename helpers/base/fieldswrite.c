/* SPDX-License-Identifier: Apache-2.0 */
/* Writes fields as text. */
#include "fieldsparts.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct text {
    char *out;
    size_t size, used;
    bool is_full; /* the text did not fit */
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...)
{
    va_list arguments;
    size_t room = text->size - text->used;
    va_start(arguments, format);
    int length = vsnprintf(text->out + text->used, room, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= room)
        text->is_full = true;
    else
        text->used += (size_t)length;
}

static void put_escaped(struct text *text, const char *from)
{
    for (const char *byte = from; *byte; byte++) {
        if (*byte == '\\')
            put(text, "\\\\");
        else if (*byte == '\n')
            put(text, "\\n");
        else if (*byte < 0x20 || *byte > 0x7e)
            put(text, "\\x%02x", (unsigned char)*byte);
        else
            put(text, "%c", *byte);
    }
}

/* A set that does not fit is cut by hm_set_format, and ends in "..." then. */
static void put_set(struct text *text, const struct hm_set *set)
{
    char *from = text->out + text->used;
    hm_set_format(set, from, text->size - text->used);
    size_t length = strlen(from);
    text->used += length;
    if (length > 0 && from[length - 1] == '.')
        text->is_full = true;
}

static void put_number(struct text *text, const struct hm_field *field, const void *value)
{
    uint64_t number = 0;
    double real;
    memcpy(&number, value, field->size);
    memcpy(&real, &number, sizeof(real));
    if (field->type == HM_FIELD_BOOL)
        put(text, "%s", number ? "yes" : "no");
    else if (field->type == HM_FIELD_WORD)
        put(text, "%s", field->words[number]);
    else if (field->type == HM_FIELD_REAL)
        put(text, "%.17g", real);
    else if (field->type == HM_FIELD_UNSIGNED)
        put(text, "%" PRIu64, number);
    else
        put(text, "%" PRId64, field->size == 4 ? (int64_t)(int32_t)number : (int64_t)number);
}

static void put_value(struct text *text, const struct hm_field *field, const void *value)
{
    if (field->type == HM_FIELD_TEXT)
        put_escaped(text, value);
    else if (field->type == HM_FIELD_SET)
        put_set(text, value);
    else
        put_number(text, field, value);
}

/* Write all places up to the last one in use. */
static void put_line_list(struct text *text, const char *path, const struct hm_field *field, const void *group)
{
    uint32_t used = hm_field_used(field, group);
    while (used > 0 && !hm_field_is_used(field, group, used - 1))
        used--;
    put(text, "%s%s", path, field->name);
    for (uint32_t i = 0; i < used; i++) {
        put(text, " ");
        put_value(text, field, (const char *)group + field->offset + i * field->size);
    }
    put(text, "\n");
}

static void put_table(struct text *text, const char *path, const struct hm_field *table, const void *group);

static void put_place(struct text *text, const char *path, const struct hm_field *field, const void *value)
{
    char deeper[HM_FIELD_PATH];
    if (field->type == HM_FIELD_GROUP) {
        snprintf(deeper, sizeof(deeper), "%s.", path);
        put_table(text, deeper, field->fields, value);
        return;
    }
    put(text, "%s ", path);
    size_t used = text->used;
    put_value(text, field, value);
    text->used -= text->used == used; /* an empty text or set: the path alone, without a space */
    put(text, "\n");
}

static void put_table(struct text *text, const char *path, const struct hm_field *table, const void *group)
{
    char deeper[HM_FIELD_PATH];
    for (const struct hm_field *field = table; field->name; field++) {
        const char *value = (const char *)group + field->offset;
        if (field->places && hm_field_is_line(field)) {
            put_line_list(text, path, field, group);
        } else if (field->places) {
            for (uint32_t i = 0; i < hm_field_used(field, group); i++) {
                snprintf(deeper, sizeof(deeper), "%s%s.%u", path, field->name, i);
                if (hm_field_is_used(field, group, i))
                    put_place(text, deeper, field, value + i * field->size);
            }
        } else {
            snprintf(deeper, sizeof(deeper), "%s%s", path, field->name);
            put_place(text, deeper, field, value);
        }
    }
}

/* Copy the lines of `before` that the table does not know. The first and the last line of a text are not fields. */
static void put_kept(struct text *text, const struct hm_fields *fields, const void *value, const char *before)
{
    const char *line = strchr(before, '\n');
    struct hm_field_mark marks[HM_FIELD_DEPTH] = {{0}};
    while (line && strcmp(++line, HM_FIELDS_LAST) != 0) {
        const char *end = strchr(line, '\n');
        struct hm_field_spot spot;
        size_t path = strcspn(line, " \n");
        if (!end)
            return;
        hm_field_follow(fields->table, value, line, path, marks, &spot);
        size_t length = (size_t)(end - line) + 1;
        /* Leave room for the last line. */
        if (!spot.field && spot.is_used && text->used + length + sizeof(HM_FIELDS_LAST) <= text->size)
            put(text, "%.*s", (int)length, line);
        line = end;
    }
}

ssize_t hm_fields_format(const struct hm_fields *fields, const void *value, const char *before, char *out,
                         struct hm_error *error)
{
    struct text text = {.out = out, .size = fields->most};
    /* The program's locale may have another decimal point. newlocale allocates nothing for "C", which is static. */
    locale_t plain = newlocale(LC_ALL_MASK, "C", NULL), own = uselocale(plain);
    put(&text, HM_FIELDS_FIRST, fields->title);
    put_table(&text, "", fields->table, value);
    if (before)
        put_kept(&text, fields, value, before);
    put(&text, HM_FIELDS_LAST);
    uselocale(own);
    freelocale(plain);
    if (text.is_full)
        return hm_fail(error, EFBIG, "more than %zu bytes", fields->most);
    return (ssize_t)text.used;
}
