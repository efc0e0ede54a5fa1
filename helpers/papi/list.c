/* SPDX-License-Identifier: Apache-2.0 */
#include "list.h"

#include <jansson.h>
#include <stdio.h>

#include "base/words.h"

#define EVENT_COLUMN 4
#define REMARK_COLUMN 25

/* Say why a component is not used. A component that works is used only if the table names it. */
static const char *remark(const struct hm_papi_component *component)
{
    if (!component->is_in)
        return component->reason;
    return hm_papi_is_wanted(component->name) ? "" : "nothing of it is used";
}

/* "  NAME: KIND MEASURE, socket N, in UNIT" */
static void print_event(const struct hm_papi_event *event, size_t columns)
{
    char text[256], socket[24] = "";
    bool has_kind = event->kind != HM_KIND_UNKNOWN;
    if (event->socket >= 0)
        snprintf(socket, sizeof(socket), ", socket %d", event->socket);
    snprintf(text, sizeof(text), "%s%s%s%s, in %s", has_kind ? hm_kind_name(event->kind) : "", has_kind ? " " : "",
             hm_papi_measure_name(event->measure), socket, hm_papi_unit_name(event->unit));
    hm_words_put_row(stdout, columns, EVENT_COLUMN, text, "  %s:", event->name);
}

void hm_papi_list_text(const struct hm_papi_library *library)
{
    size_t columns = hm_words_columns(stdout);
    printf("PAPI %s\n", library->version);
    for (unsigned c = 0; c < library->n_components; c++) {
        const struct hm_papi_component *component = &library->component[c];
        hm_words_put_row(stdout, columns, REMARK_COLUMN, remark(component), "%-20s %s", component->name,
                         component->is_in ? "in" : "out");
        for (unsigned i = 0; i < library->n_found; i++)
            if (library->found[i].component == c)
                print_event(&library->found[i].event, columns);
    }
}

static json_t *pack_event(const struct hm_papi_event *event)
{
    return json_pack(
        "{s:s, s:s, s:s?, s:o, s:s}", "name", event->name, "measures", hm_papi_measure_name(event->measure), "kind",
        event->kind == HM_KIND_UNKNOWN ? NULL : hm_kind_name(event->kind), "socket",
        event->socket < 0 ? json_null() : json_integer(event->socket), "unit", hm_papi_unit_name(event->unit));
}

int hm_papi_list_json(const struct hm_papi_library *library)
{
    json_t *components = json_array();
    int result = -1;
    for (unsigned c = 0; c < library->n_components; c++) {
        const struct hm_papi_component *component = &library->component[c];
        json_t *events = json_array();
        for (unsigned i = 0; i < library->n_found; i++)
            if (library->found[i].component == c)
                json_array_append_new(events, pack_event(&library->found[i].event));
        json_array_append_new(components,
                              json_pack("{s:s, s:b, s:s?, s:b, s:o}", "name", component->name, "in",
                                        (int)component->is_in, "reason", component->is_in ? NULL : component->reason,
                                        "used", (int)hm_papi_is_wanted(component->name), "events", events));
    }
    json_t *all = json_pack("{s:s, s:o}", "papi", library->version, "components", components);
    if (all && json_array_size(components) == library->n_components && json_dumpf(all, stdout, JSON_INDENT(2)) == 0 &&
        putchar('\n') != EOF)
        result = 0;
    json_decref(all);
    return result;
}
