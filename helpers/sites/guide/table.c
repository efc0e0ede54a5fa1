/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SITES " sites="
#define DIGITS 16

/* Reads one id of lower-case hexadecimal digits. Returns 0, or -1. */
static int take_id(const char *text, uint64_t *id)
{
    *id = 0;
    for (int i = 0; i < DIGITS; i++) {
        bool is_digit = text[i] >= '0' && text[i] <= '9';
        if (!is_digit && !(text[i] >= 'a' && text[i] <= 'f'))
            return -1;
        *id = *id << 4 | (uint64_t)(is_digit ? text[i] - '0' : text[i] - 'a' + 10);
    }
    return 0;
}

int hm_guide_parse(const char *text, struct hm_guide_table *table)
{
    const char *at = strstr(text, SITES);
    size_t length = at ? (size_t)(at - text) : 0;
    if (!at || length >= sizeof(table->nodes))
        return -1;
    memcpy(table->nodes, text, length);
    table->nodes[length] = '\0';
    table->n_ids = 0;
    at += strlen(SITES);
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

void hm_guide_format(const struct hm_guide_table *table, char out[HM_GUIDE_TEXT])
{
    size_t used = (size_t)snprintf(out, HM_GUIDE_TEXT, "%s" SITES, table->nodes);
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
