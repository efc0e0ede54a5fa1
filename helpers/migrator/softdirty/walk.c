/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"

#define PAGE_S 43e-9 /* for a page, until a walk of the process was measured */
#define TEXT 8192

double hm_softdirty_walk_s(const struct hm_softdirty_walk *last, uint64_t pages, double huge)
{
    bool is_known = last->pages > 0 && pages / 2 <= last->pages;
    double page_s = is_known ? last->took_s / (double)last->pages : PAGE_S * (1 - huge);
    return page_s * (double)pages;
}

static bool find(const char *text, const char *key, uint64_t *value)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && line[length] == ' ')
            return sscanf(line + length, " %" SCNu64, value) == 1;
    }
    return false;
}

double hm_softdirty_parse_huge(const char *text)
{
    uint64_t all, huge;
    if (!find(text, "anon", &all) || !find(text, "anon_thp", &huge) || all == 0)
        return 0;
    return huge < all ? (double)huge / (double)all : 1;
}

double hm_softdirty_huge_share(const char *cgroup)
{
    char path[300], text[TEXT];
    snprintf(path, sizeof(path), "%s/memory.stat", cgroup);
    bool is_read = cgroup[0] && hm_file_read_start(path, text, sizeof(text)) == 0;
    return is_read ? hm_softdirty_parse_huge(text) : 0;
}
