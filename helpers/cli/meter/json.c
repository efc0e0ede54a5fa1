/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what `hybridmem meter` shows as JSON (print.h). */
#include <jansson.h>

#include "base/moment.h"
#include "cli/draw/figures.h"
#include "print.h"

static json_t *text_or_null(const char *text)
{
    return text && *text ? json_string(text) : json_null();
}

/* The amount, divided by `by`. */
static json_t *amount_or_null(const struct hm_meter_reading *reading, const struct hm_flow *flow, double by)
{
    return hm_meter_is_known(reading, flow) ? json_real(flow->total.amount / by) : json_null();
}

static json_t *reason_or_null(const struct hm_meter_reading *reading, const struct hm_flow *flow)
{
    return text_or_null(hm_meter_is_known(reading, flow) ? NULL : flow->reason.text);
}

static json_t *build_energy(const struct hm_meter_reading *reading, const struct hm_flow *flow)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "name", flow->name, "quantity",
                     hm_quantity_name(flow->quantity), "socket",
                     flow->socket < 0 ? json_null() : json_integer(flow->socket), "joules",
                     amount_or_null(reading, flow, 1), "watts", amount_or_null(reading, flow, reading->seconds),
                     "source", text_or_null(flow->source), "reason", reason_or_null(reading, flow));
}

static json_t *build_traffic(const struct hm_meter_reading *reading, const struct hm_flow *flow)
{
    const char *kind = flow->kind == HM_KIND_UNKNOWN ? NULL : hm_kind_name(flow->kind);
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "name", flow->name, "quantity",
                     hm_quantity_name(flow->quantity), "tier", text_or_null(flow->tier), "kind", text_or_null(kind),
                     "bytes", amount_or_null(reading, flow, 1), "bytes_per_s",
                     amount_or_null(reading, flow, reading->seconds), "source", text_or_null(flow->source), "reason",
                     reason_or_null(reading, flow));
}

int hm_meterprint_json(FILE *out, const struct hm_meter_reading *reading)
{
    char moment[HM_MOMENT];
    json_t *energy = json_array(), *traffic = json_array();
    size_t n_energy = 0;
    for (int i = 0; i < reading->n; i++) {
        const struct hm_flow *flow = &reading->flow[i];
        bool is_energy = hm_meter_is_energy(flow);
        json_array_append_new(is_energy ? energy : traffic,
                              is_energy ? build_energy(reading, flow) : build_traffic(reading, flow));
        n_energy += is_energy;
    }
    json_t *object = json_pack(
        "{s:s, s:s, s:o, s:o, s:o}", "time", hm_moment_format(reading->time_s, moment), "node", reading->host,
        "seconds", reading->seconds > 0 ? json_real(reading->seconds) : json_null(), "energy",
        hm_figures_whole(energy, n_energy), "traffic", hm_figures_whole(traffic, (size_t)reading->n - n_energy));
    return hm_figures_end(out, object, JSON_COMPACT | JSON_REAL_PRECISION(15));
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
    return hm_figures_whole(counters, tried->n);
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
    json_t *object =
        json_pack("{s:s, s:o}", "node", sources->host, "sources", hm_figures_whole(array, (size_t)sources->n));
    return hm_figures_end(out, object, JSON_INDENT(2));
}
