/* SPDX-License-Identifier: Apache-2.0 */
#include "fieldwalk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "unit/lib/rows.h"

static void walk(const struct hm_field *table, const char *path, char *value, bool is_first, field_visit *visit,
                 void *data)
{
    char deeper[256];
    for (const struct hm_field *field = table; field->name; field++) {
        /* a list has one line for all its places, unless it is of texts, sets or groups */
        bool is_line = field->type != HM_FIELD_TEXT && field->type != HM_FIELD_SET && field->type != HM_FIELD_GROUP;
        for (uint32_t i = 0; i == 0 || (!is_first && i < field->places); i++) {
            char *at = value + field->offset + i * field->size;
            if (field->places && !is_line)
                snprintf(deeper, sizeof(deeper), "%s%s.%u", path, field->name, i);
            else
                snprintf(deeper, sizeof(deeper), "%s%s", path, field->name);
            if (field->type != HM_FIELD_GROUP) {
                visit(field, deeper, at, data);
                continue;
            }
            strncat(deeper, ".", sizeof(deeper) - strlen(deeper) - 1);
            walk(field->fields, deeper, at, is_first, visit, data);
        }
        if (field->is_counted && !is_first) {
            uint32_t count = field->places + (field->may_exceed ? 7 : 0);
            memcpy(value + field->count_at, &count, sizeof(count));
        }
    }
}

void field_walk(const struct hm_field *table, void *value, bool is_first, field_visit *visit, void *data)
{
    walk(table, "", value, is_first, visit, data);
}

struct filling {
    unsigned seed, n;
    bool is_long;
};

static bool is_taken(const struct hm_field *field, const void *value)
{
    return !field->is_right || field->is_right(value);
}

/* Fills a text field with bytes of all kinds, or, if the field wants a form, with a text of that form. */
static void fill_text(const struct hm_field *field, char *value, const struct filling *filling)
{
    static const char *const forms[] = {"\x01\n\\ \xff", "/proc/\t", "/dev/pmem0.1", "plain"};
    for (size_t form = 0; form < N_ROWS(forms); form++) {
        snprintf(value, field->size, "%s", forms[form]);
        size_t length = strlen(value);
        if (filling->is_long && form != 2)
            memset(value + length, form == 3 ? 'x' : '\x7f', field->size - 1 - length);
        else if (length + 2 < field->size)
            value[length] = (char)('0' + (filling->seed + filling->n) % 10);
        if (is_taken(field, value))
            return;
        memset(value, 0, field->size);
    }
    fail_msg("no text for %s", field->name);
}

static void fill_number(const struct hm_field *field, void *value, const struct filling *filling)
{
    const uint64_t mix = (uint64_t)(filling->seed * 977 + filling->n + 1) * UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t numbers[] = {field->most ? mix % (field->most + 1) : mix, mix >> 33};
    for (size_t i = 0; i < N_ROWS(numbers); i++) {
        memcpy(value, &numbers[i], field->size);
        if (is_taken(field, value))
            return;
    }
    fail_msg("no number for %s", field->name);
}

static void fill_real(const struct hm_field *field, void *value, const struct filling *filling)
{
    const double numbers[] = {-1e300 / (filling->n + 3), 1.0 / (filling->n + filling->seed + 3)};
    for (size_t i = 0; i < N_ROWS(numbers); i++) {
        memcpy(value, &numbers[(i + filling->seed) % 2], sizeof(numbers[0]));
        if (is_taken(field, value))
            return;
    }
    fail_msg("no real number for %s", field->name);
}

static void fill_set(struct hm_set *set, const struct filling *filling)
{
    hm_set_clear(set);
    if (filling->is_long)
        memset(set->word, 0xaa, sizeof(set->word));
    else
        for (unsigned i = 0; i < 5; i++)
            hm_set_add(set, (filling->seed * 31 + filling->n + i * i * 100) % HM_SET_BITS);
}

static void fill(const struct hm_field *field, const char *path, void *value, void *data)
{
    struct filling *filling = data;
    uint32_t words = 0;
    (void)path;
    filling->n++;
    switch (field->type) {
    case HM_FIELD_BOOL:
        *(bool *)value = (filling->n + filling->seed) % 2;
        break;
    case HM_FIELD_TEXT:
        fill_text(field, value, filling);
        break;
    case HM_FIELD_SET:
        fill_set(value, filling);
        break;
    case HM_FIELD_REAL:
        fill_real(field, value, filling);
        break;
    case HM_FIELD_WORD:
        while (field->words[words])
            words++;
        *(uint32_t *)value = (filling->n + filling->seed) % words;
        break;
    default:
        fill_number(field, value, filling);
    }
}

void field_fill(const struct hm_field *table, void *value, unsigned seed, bool is_long)
{
    struct filling filling = {.seed = seed, .is_long = is_long};
    field_walk(table, value, false, fill, &filling);
}
