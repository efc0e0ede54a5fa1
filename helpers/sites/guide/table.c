/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "alloc/hybridmem.h"

#define PROGRAM " program="
#define LEAST " least="
#define LIMIT " limit="
#define LIMITED " limited="
#define PARTS " parts="
#define SITES " sites="
#define DIGITS 16    /* of an id */
#define SET_DIGITS 8 /* of a set of slices */

/* Reads so many lower-case hexadecimal digits. Returns 0, or -1. */
static int take_digits(const char *text, int n, uint64_t *number)
{
    *number = 0;
    for (int i = 0; i < n; i++) {
        bool is_digit = text[i] >= '0' && text[i] <= '9';
        if (!is_digit && !(text[i] >= 'a' && text[i] <= 'f'))
            return -1;
        *number = *number << 4 | (uint64_t)(is_digit ? text[i] - '0' : text[i] - 'a' + 10);
    }
    return 0;
}

static int take_id(const char *text, uint64_t *id)
{
    return take_digits(text, DIGITS, id);
}

/* Finds a word before `end`. Returns what follows it, and sets `end` to where it begins; NULL: it is not there. */
static const char *find(const char *text, const char *word, const char **end)
{
    const char *at = strstr(text, word);
    if (!at || at >= *end)
        return NULL;
    *end = at;
    return at + strlen(word);
}

/* Copies what is before `end`. Returns 0, or -1: it is too long. */
static int take_text(const char *text, const char *end, char *out, size_t size)
{
    size_t length = (size_t)(end - text);
    if (length >= size)
        return -1;
    memcpy(out, text, length);
    out[length] = '\0';
    return 0;
}

/* Reads digits up to `end`, without zeros before them: 1 to `most`. Returns 0, or -1. */
static int take_number(const char *text, const char *end, uint64_t most, uint64_t *number)
{
    *number = 0;
    if (*text == '0')
        return -1;
    for (; text < end; text++)
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(*text - '0'), number))
            return -1;
    return *number > 0 && *number <= most ? 0 : -1;
}

/* Reads the limit of a site. Returns 0, or -1. */
static int take_limited(const char *text, const char *end, struct hm_guide_table *table)
{
    if (end - text <= DIGITS + 1 || take_id(text, &table->limited) < 0 || text[DIGITS] != ':')
        return -1;
    return take_number(text + DIGITS + 1, end, UINT64_MAX, &table->limited_bytes);
}

/* Reads one site that is divided. Returns 0, or -1. */
static int take_part(const char *text, const char *end, struct hm_guide_part *part)
{
    uint64_t slices;
    if (end - text <= DIGITS + 2 + SET_DIGITS || take_id(text, &part->id) < 0 || text[DIGITS] != ':')
        return -1;
    const char *step = text + DIGITS + 1, *set = end - SET_DIGITS;
    bool has_own = set - step == 2 && *step == '0';
    if (set[-1] != ':' || take_digits(set, SET_DIGITS, &slices) < 0 || slices == 0)
        return -1;
    part->slices = (uint32_t)slices;
    part->step_bytes = 0;
    return has_own ? 0 : take_number(step, set - 1, UINT64_MAX, &part->step_bytes);
}

static int take_parts(const char *at, const char *end, struct hm_guide_table *table)
{
    for (const char *comma; at; at = comma ? comma + 1 : NULL) {
        struct hm_guide_part part;
        comma = memchr(at, ',', (size_t)(end - at));
        if (table->n_parts == HM_GUIDE_PARTS || take_part(at, comma ? comma : end, &part) < 0 ||
            hm_guide_find_part(table, part.id) >= 0)
            return -1;
        table->part[table->n_parts++] = part;
    }
    return 0;
}

static int take_sites(const char *at, struct hm_guide_table *table)
{
    while (*at) {
        uint64_t *id = &table->id[table->n_ids];
        if (table->n_ids == HM_GUIDE_SITES || take_id(at, id) < 0 || (table->n_ids > 0 && *id <= id[-1]))
            return -1;
        table->n_ids++;
        at += DIGITS;
        if (*at == ',' && at[1])
            at++;
        else if (*at)
            return -1;
    }
    return 0;
}

/* From the last word to the first. */
int hm_guide_parse(const char *text, struct hm_guide_table *table)
{
    const char *end = text + strlen(text), *sites = find(text, SITES, &end), *end_of_parts = end;
    const char *parts = find(text, PARTS, &end), *end_of_limited = end;
    const char *limited = find(text, LIMITED, &end), *end_of_limit = end;
    const char *limit = find(text, LIMIT, &end), *end_of_least = end;
    const char *least = find(text, LEAST, &end), *end_of_program = end;
    const char *program = find(text, PROGRAM, &end);
    table->program[0] = '\0';
    table->least_bytes = HM_ALLOC_LEAST;
    table->limit_bytes = table->limited = table->limited_bytes = 0;
    table->n_ids = table->n_parts = 0;
    if (!sites || take_text(text, end, table->nodes, sizeof(table->nodes)) < 0 ||
        (limit && take_number(limit, end_of_limit, UINT64_MAX, &table->limit_bytes) < 0) ||
        (limited && take_limited(limited, end_of_limited, table) < 0) ||
        (parts && take_parts(parts, end_of_parts, table) < 0) ||
        (least && take_number(least, end_of_least, HM_ALLOC_LEAST - 1, &table->least_bytes) < 0) ||
        (program && take_text(program, end_of_program, table->program, sizeof(table->program)) < 0))
        return -1;
    if (program && (!table->program[0] || table->program[strspn(table->program, "0123456789abcdef")]))
        return -1;
    return take_sites(sites, table);
}

void hm_guide_format(const struct hm_guide_table *table, char out[HM_GUIDE_TEXT])
{
    size_t used = (size_t)snprintf(out, HM_GUIDE_TEXT, "%s", table->nodes);
    if (table->program[0])
        used += (size_t)snprintf(out + used, HM_GUIDE_TEXT - used, PROGRAM "%s", table->program);
    if (table->least_bytes != HM_ALLOC_LEAST)
        used += (size_t)snprintf(out + used, HM_GUIDE_TEXT - used, LEAST "%" PRIu64, table->least_bytes);
    if (table->limit_bytes > 0)
        used += (size_t)snprintf(out + used, HM_GUIDE_TEXT - used, LIMIT "%" PRIu64, table->limit_bytes);
    if (table->limited_bytes > 0)
        used += (size_t)snprintf(out + used, HM_GUIDE_TEXT - used, LIMITED "%016" PRIx64 ":%" PRIu64, table->limited,
                                 table->limited_bytes);
    for (size_t i = 0; i < table->n_parts; i++)
        used +=
            (size_t)snprintf(out + used, HM_GUIDE_TEXT - used, "%s%016" PRIx64 ":%" PRIu64 ":%08" PRIx32,
                             i > 0 ? "," : PARTS, table->part[i].id, table->part[i].step_bytes, table->part[i].slices);
    used += (size_t)snprintf(out + used, HM_GUIDE_TEXT - used, SITES);
    for (size_t i = 0; i < table->n_ids; i++)
        used += (size_t)snprintf(out + used, HM_GUIDE_TEXT - used, "%s%016" PRIx64, i > 0 ? "," : "", table->id[i]);
}

bool hm_guide_has(const struct hm_guide_table *table, uint64_t id)
{
    size_t low = 0, high = table->n_ids;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->id[middle] == id)
            return true;
        if (table->id[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

int hm_guide_find_part(const struct hm_guide_table *table, uint64_t id)
{
    for (size_t i = 0; i < table->n_parts; i++)
        if (table->part[i].id == id)
            return (int)i;
    return -1;
}

/* Appends a tier's nodes. Returns the length of the text so far, which may exceed HM_GUIDE_NODES. */
static size_t add_tier(const struct hm_layout *layout, bool is_fast, const char *word, size_t used, char *out)
{
    const char *before = word;
    for (int i = 0; i < layout->n_nodes && used < HM_GUIDE_NODES; i++) {
        const struct hm_layout_node *node = &layout->node[i];
        char socket[16] = "";
        if (node->is_fast != is_fast)
            continue;
        if (node->socket >= 0)
            snprintf(socket, sizeof(socket), "@%d", node->socket);
        used += (size_t)snprintf(out + used, HM_GUIDE_NODES - used, "%s%d%s", before, node->id, socket);
        before = ",";
    }
    return used;
}

int hm_guide_write_nodes(const struct hm_layout *layout, char out[HM_GUIDE_NODES])
{
    memset(out, 0, HM_GUIDE_NODES);
    size_t used = add_tier(layout, true, "fast=", 0, out);
    used = add_tier(layout, false, used > 0 ? " slow=" : "slow=", used, out);
    if (used < HM_GUIDE_NODES)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}
