/* SPDX-License-Identifier: Apache-2.0 */
#include "zones.h"

#include <papi.h>
#include <stdio.h>
#include <string.h>

#define ENERGY "powercap:::ENERGY_UJ:"
#define RANGE "powercap:::MAX_ENERGY_RANGE_UJ:"
#define SUBZONE "_SUBZONE"

/* Find the measure and the socket of a zone by its name. PAPI has the text of the zone's file "name" as the description
 * of an event. */
static int describe(const char *zone, bool is_in_package, enum hm_papi_measure *measure, int *socket)
{
    static PAPI_event_info_t info; /* tens of KiB */
    char event[HM_PAPI_NAME];
    int code;
    snprintf(event, sizeof(event), "powercap:::NAME:%.64s", zone);
    if (PAPI_event_name_to_code(event, &code) != PAPI_OK || PAPI_get_event_info(code, &info) != PAPI_OK)
        return -1;
    return hm_papi_zone(info.long_descr, is_in_package, measure, socket);
}

bool hm_papi_zone_describe(struct hm_papi_found *found)
{
    char zone[HM_PAPI_NAME];
    enum hm_papi_measure of_package;
    int none;
    snprintf(zone, sizeof(zone), "%s", found->event.name + strlen(ENERGY));
    char *subzone = strstr(zone, SUBZONE);
    found->is_in_package = subzone != NULL;
    snprintf(found->range, sizeof(found->range), RANGE "%.64s", zone);
    if (!subzone)
        return describe(zone, false, &found->event.measure, &found->event.socket) == 0;
    if (describe(zone, true, &found->event.measure, &none) != 0)
        return false;
    *subzone = '\0';
    return describe(zone, false, &of_package, &found->event.socket) == 0;
}

/* Find the last range event of each level (packages, and zones within packages), in PAPI's order; "" for none. */
static void find_last(int component, char last[2][HM_PAPI_NAME])
{
    static PAPI_event_info_t info;
    int code = PAPI_NATIVE_MASK, result = PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, component);
    for (; result == PAPI_OK; result = PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, component))
        if (PAPI_get_event_info(code, &info) == PAPI_OK && strncmp(info.symbol, RANGE, strlen(RANGE)) == 0)
            snprintf(last[strstr(info.symbol, SUBZONE) != NULL], HM_PAPI_NAME, "%.100s", info.symbol);
}

int hm_papi_zones_used_ranges(int component, uint64_t used[2])
{
    char last[2][HM_PAPI_NAME] = {"", ""};
    long long read[2] = {0, 0};
    int set = PAPI_NULL, place[2], n = 0, result = PAPI_create_eventset(&set);
    find_last(component, last);
    for (int level = 0; level < 2; level++) {
        place[level] = n;
        if (result == PAPI_OK && last[level][0] && (result = PAPI_add_named_event(set, last[level])) == PAPI_OK)
            n++;
    }
    if (result == PAPI_OK && n > 0 && (result = PAPI_start(set)) == PAPI_OK)
        result = PAPI_stop(set, read);
    for (int level = 0; level < 2; level++)
        used[level] = last[level][0] && read[place[level]] > 0 ? (uint64_t)read[place[level]] : 0;
    if (set != PAPI_NULL) {
        PAPI_cleanup_eventset(set);
        PAPI_destroy_eventset(&set);
    }
    return result;
}

static enum hm_papiraw_state take(struct hm_papi_found *found, const long long *columns,
                                  const struct hm_papi_moment *moment, uint64_t *value)
{
    uint64_t reading = (uint64_t)columns[found->column];
    /* The column before this one has the zone's range. If that reads differently now, PAPI cannot read this zone any
     * more (meter/papi/raw.h). */
    if (columns[found->column - 1] != (long long)found->raw.range)
        return HM_PAPIRAW_UNREADABLE;
    return moment->is_start
               ? hm_papiraw_begin(&found->raw, reading, moment->now_ns, moment->now_ns - moment->started_ns, value)
               : hm_papiraw_take(&found->raw, reading, moment->now_ns, value);
}

bool hm_papi_zones_take(struct hm_papi_library *library, unsigned component, const long long *columns,
                        const struct hm_papi_moment *moment, uint64_t *value, bool *is_known)
{
    bool is_clear = true;
    for (unsigned i = 0; i < library->n_found; i++) {
        struct hm_papi_found *found = &library->found[i];
        uint64_t taken;
        if (found->component != component || !found->range[0])
            continue;
        enum hm_papiraw_state state = take(found, columns, moment, &taken);
        if (state == HM_PAPIRAW_VALUE)
            value[i] = taken;
        is_known[i] = state == HM_PAPIRAW_VALUE || (state == HM_PAPIRAW_AMBIGUOUS && is_known[i]);
        is_clear = is_clear && state != HM_PAPIRAW_AMBIGUOUS;
    }
    return is_clear;
}
