/* SPDX-License-Identifier: Apache-2.0 */
#include "zones.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/pagesize.h"

#define MOST_PAGES (UINT64_C(1) << 44) /* no sum of a few overflows, nor their bytes */

static uint64_t number(const char *text)
{
    return hm_least(isdigit((unsigned char)*text) ? strtoull(text, NULL, 10) : 0, MOST_PAGES);
}

/* The last number of "(0, 1893, 1893)": zones are in ascending order, and users' pages may be in the last one. */
static uint64_t last_number(const char *text)
{
    const char *last = strrchr(text, ' '), *first = strchr(text, '(');
    return number(last && last > first ? last + 1 : first ? first + 1 : text);
}

bool hm_zone_take(struct hm_zone *zone, const char *line)
{
    const struct {
        const char *key;
        uint64_t *value;
    } rows[] = {{"pages free ", &zone->free}, {"low ", &zone->low}, {"high ", &zone->high}};
    static const char protection[] = "protection:";
    int node;
    if (sscanf(line, "Node %9d, zone", &node) == 1) {
        *zone = (struct hm_zone){.node = node};
        return false;
    }
    if (zone->node < 0)
        return false;
    line += strspn(line, " ");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t length = strlen(rows[i].key);
        if (strncmp(line, rows[i].key, length) == 0)
            *rows[i].value = number(line + length + strspn(line + length, " "));
    }
    if (strncmp(line, protection, strlen(protection)) != 0)
        return false;
    zone->protection = last_number(line);
    return true;
}

void hm_zone_add(const struct hm_zone *zone, struct hm_watermarks *marks)
{
    marks->low_bytes += hm_least(zone->free, zone->low + zone->protection) * hm_page_size();
    marks->high_bytes += hm_least(zone->free, zone->high + zone->protection) * hm_page_size();
}

/* A zone without memory has a small watermark all the same. One with protection is for others before users. */
bool hm_zone_is_short(const struct hm_zone *zone)
{
    return zone->protection == 0 && zone->free > 0 && zone->free < zone->high;
}
