/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what `hybridmem meter` shows as JSON (print.h). */
#include <jansson.h>

#include "base/moment.h"
#include "print.h"

static json_t *text_or_null(const char *text)
{
    return text && *text ? json_string(text) : json_null();
}

/* Sets an amount, and its rate per second. */
static void set_amount(json_t *object, const char *amount, const char *rate, const struct hm_meter_reading *reading,
                       const struct hm_flow *flow)
{
    bool known = reading->seconds > 0 && hm_total_is_known(&flow->total);
    json_object_set_new(object, amount, known ? json_real(flow->total.amount) : json_null());
    json_object_set_new(object, rate, known ? json_real(flow->total.amount / reading->seconds) : json_null());
    json_object_set_new(object, "source", text_or_null(flow->source));
    json_object_set_new(object, "reason", known ? json_null() : text_or_null(flow->reason.text));
}

static json_t *build_energy(const struct hm_meter_reading *reading, const struct hm_flow *flow)
{
    json_t *object = json_pack("{s:s, s:s, s:o}", "name", flow->name, "quantity", hm_quantity_name(flow->quantity),
                               "socket", flow->socket < 0 ? json_null() : json_integer(flow->socket));
    set_amount(object, "joules", "watts", reading, flow);
    return object;
}

static json_t *build_traffic(const struct hm_meter_reading *reading, const struct hm_flow *flow)
{
    const char *kind = flow->kind == HM_KIND_UNKNOWN ? NULL : hm_kind_name(flow->kind);
    json_t *object = json_pack("{s:s, s:s, s:o, s:o}", "name", flow->name, "quantity", hm_quantity_name(flow->quantity),
                               "tier", text_or_null(flow->tier), "kind", text_or_null(kind));
    set_amount(object, "bytes", "bytes_per_s", reading, flow);
    return object;
}

/* Writes the object and frees it. */
static int dump(FILE *out, json_t *object, size_t flags)
{
    int result = object && json_dumpf(object, out, flags) == 0 && fputc('\n', out) != EOF ? 0 : -1;
    json_decref(object);
    return result;
}

int hm_meterprint_json(FILE *out, const struct hm_meter_reading *reading)
{
    char moment[HM_MOMENT];
    json_t *energy = json_array(), *traffic = json_array();
    for (int i = 0; i < reading->n; i++) {
        const struct hm_flow *flow = &reading->flow[i];
        if (*hm_quantity_unit(flow->quantity) == 'J')
            json_array_append_new(energy, build_energy(reading, flow));
        else
            json_array_append_new(traffic, build_traffic(reading, flow));
    }
    return dump(out,
                json_pack("{s:s, s:s, s:o, s:o, s:o}", "time", hm_moment_format(reading->time_s, moment), "node",
                          reading->host, "seconds", reading->seconds > 0 ? json_real(reading->seconds) : json_null(),
                          "energy", energy, "traffic", traffic),
                JSON_COMPACT | JSON_REAL_PRECISION(15));
}

static json_t *build_counters(const struct hm_meter_sources *sources, const struct hm_counters_tried *tried)
{
    json_t *counters = json_array();
    for (size_t i = tried->first; i < tried->first + tried->n; i++) {
        const struct hm_gauge *gauge = &sources->gauges->gauge[i];
        const char *kind = gauge->kind == HM_KIND_UNKNOWN ? NULL : hm_kind_name(gauge->kind);
        json_array_append_new(counters,
                              json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", gauge->name, "quantity",
                                        hm_quantity_name(gauge->quantity), "unit", hm_quantity_unit(gauge->quantity),
                                        "socket", gauge->socket < 0 ? json_null() : json_integer(gauge->socket), "kind",
                                        text_or_null(kind)));
    }
    return counters;
}

int hm_meterprint_list_json(FILE *out, const struct hm_meter_sources *sources)
{
    json_t *array = json_array();
    for (int i = 0; i < sources->n; i++) {
        const struct hm_counters_tried *tried = &sources->tried[i];
        const struct hm_counter_source *source = tried->source;
        json_array_append_new(
            array, json_pack("{s:s, s:b, s:o, s:s, s:s, s:s, s:s, s:s, s:o}", "name", source->name, "usable",
                             (int)(tried->n > 0), "reason", tried->n > 0 ? json_null() : json_string(tried->reason),
                             "measures", source->measures, "covers", source->covers, "unit", source->unit, "wraps",
                             source->wraps, "needs", source->needs, "counters", build_counters(sources, tried)));
    }
    return dump(out, json_pack("{s:s, s:o}", "node", sources->host, "sources", array), JSON_INDENT(2));
}
