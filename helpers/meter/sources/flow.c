/* SPDX-License-Identifier: Apache-2.0 */
#include "flow.h"

#include <stdio.h>

#include "core/tiers/tiers.h"
#include "meter/count/reasons.h"

/* The quantities that are shown, in this order. */
static const struct {
    enum hm_quantity quantity;
    const char *name; /* stands before the socket, or after the tier or kind of memory */
    bool is_asked;    /* shown as unknown where no source has it */
} rows[] = {
    {HM_PACKAGE_ENERGY, "package", true}, {HM_MEMORY_ENERGY, "memory", true}, {HM_PLATFORM_ENERGY, "platform", true},
    {HM_READ_BYTES, "read", true},        {HM_WRITE_BYTES, "write", true},    {HM_TOTAL_BYTES, "total", false},
    {HM_LOCAL_BYTES, "local", false},
};

static bool is_energy(enum hm_quantity quantity)
{
    return quantity <= HM_PLATFORM_ENERGY;
}

static void name_flow(struct hm_flow *flow, const char *row)
{
    const char *memory = flow->tier[0]                   ? flow->tier
                         : flow->kind != HM_KIND_UNKNOWN ? hm_kind_name(flow->kind)
                                                         : "memory";
    if (is_energy(flow->quantity) && flow->socket >= 0)
        snprintf(flow->name, sizeof(flow->name), "%s-%d", row, flow->socket);
    else if (is_energy(flow->quantity))
        snprintf(flow->name, sizeof(flow->name), "%s", row);
    else
        snprintf(flow->name, sizeof(flow->name), "%s %s", memory, row);
}

/* The index of the best source that has this quantity, or -1. */
static int best_source(const struct hm_gauges *gauges, enum hm_quantity quantity, enum hm_kind kind)
{
    int best = -1;
    for (size_t i = 0; i < gauges->n; i++)
        if (gauges->gauge[i].quantity == quantity && gauges->gauge[i].kind == kind &&
            (best < 0 || gauges->gauge[i].source < best))
            best = gauges->gauge[i].source;
    return best;
}

/* Find or make the flow that a gauge belongs to. Returns NULL where there is no room. */
static struct hm_flow *find_flow(struct hm_flow *flows, int first, int *n, const struct hm_gauge *gauge)
{
    int socket = is_energy(gauge->quantity) ? gauge->socket : -1;
    for (int i = first; i < *n; i++)
        if (flows[i].kind == gauge->kind && flows[i].socket == socket)
            return &flows[i];
    if (*n == HM_MOST_FLOWS)
        return NULL;
    flows[*n] = (struct hm_flow){.quantity = gauge->quantity, .kind = gauge->kind, .socket = socket};
    return &flows[(*n)++];
}

static void join(struct hm_flow *flow, const struct hm_gauge *gauge)
{
    bool is_silent = hm_gauge_is_silent(gauge);
    if (is_silent && gauge->is_silence_known) {
        flow->n_silent++;
        return;
    }
    struct hm_total total = gauge->total;
    if (gauge->gap != HM_COUNTER_VALID)
        hm_total_add(&total, gauge->gap, 0, gauge->factor);
    hm_total_join(&flow->total, &total);
    if (hm_total_is_known(&flow->total) || flow->reason.text[0])
        return;
    if (is_silent) {
        hm_fail(&flow->reason, 0,
                "%s: it has had no value (\"Unavailable\"): no traffic, or more groups than AMD's processors track",
                gauge->name);
        return;
    }
    if (gauge->papi && hm_papi_reader_problem(gauge->papi)[0]) {
        hm_fail(&flow->reason, 0, "%s: %s", gauge->name, hm_papi_reader_problem(gauge->papi));
        return;
    }
    hm_fail(&flow->reason, 0, "%s: %s%s%s%s", gauge->name, hm_counter_state_text(flow->total.problem),
            gauge->said[0] ? " (\"" : "", gauge->said, gauge->said[0] ? "\")" : "");
}

/* No source has the quantity: give the reason of each source, as far as there is room. */
static void explain(struct hm_flow *flow, const struct hm_counters_tried *tried, int n_tried)
{
    struct hm_reasons reasons = hm_reasons_begin(flow->reason.text, sizeof(flow->reason.text));
    for (int i = 0; i < n_tried; i++)
        if (tried[i].source->gives & HM_GIVES(flow->quantity))
            hm_reasons_add(&reasons, "; ", "%s: %s", tried[i].source->name,
                           tried[i].n > 0 ? "has no such counter here" : tried[i].reason);
    hm_reasons_end(&reasons);
}

static bool is_only_one(const struct hm_tiers *tiers, int t)
{
    for (int i = 0; i < tiers->n_tiers; i++)
        if (i != t && tiers->tier[i].kind == tiers->tier[t].kind)
            return false;
    return true;
}

/* Give the flows from index `first` to the end the names of their tiers. A tier without a flow gets one that has the
 * reason. */
static void name_tiers(struct hm_flow *flows, int first, int *n, enum hm_quantity quantity,
                       const struct hm_tiers *tiers, const struct hm_counters_tried *tried, int n_tried)
{
    int end = *n;
    for (int t = 0; t < tiers->n_tiers; t++) {
        const struct hm_tier *tier = &tiers->tier[t];
        int i = first;
        while (i < end && (tier->kind == HM_KIND_UNKNOWN || flows[i].kind != tier->kind))
            i++;
        if (i == end && *n == HM_MOST_FLOWS)
            return;
        if (i == end) {
            i = (*n)++;
            flows[i] = (struct hm_flow){.quantity = quantity, .kind = tier->kind, .socket = -1};
            snprintf(flows[i].tier, sizeof(flows[i].tier), "%s", tier->name);
            if (tier->kind == HM_KIND_UNKNOWN && end > first)
                hm_fail(&flows[i].reason, 0,
                        "the kind of this tier's memory is unknown, so its counters are, too (give the kind in "
                        "hybridmem.conf)");
            else
                explain(&flows[i], tried, n_tried);
        } else if (is_only_one(tiers, t)) {
            snprintf(flows[i].tier, sizeof(flows[i].tier), "%s", tier->name);
        }
    }
}

/* Sum the gauges of one quantity into flows. Returns how many flows there are then. */
static int sum_quantity(const struct hm_gauges *gauges, enum hm_quantity quantity, struct hm_flow *flows, int n)
{
    int first = n;
    for (size_t i = 0; i < gauges->n; i++) {
        const struct hm_gauge *gauge = &gauges->gauge[i];
        if (gauge->quantity != quantity || gauge->source != best_source(gauges, quantity, gauge->kind))
            continue;
        struct hm_flow *flow = find_flow(flows, first, &n, gauge);
        if (!flow)
            break;
        flow->source = hm_counter_source_at(gauge->source)->name;
        join(flow, gauge);
    }
    for (int i = first; i < n; i++)
        if (flows[i].n_silent > 0 && flows[i].total.n == 0 && !flows[i].reason.text[0])
            hm_fail(&flows[i].reason, 0, "none of its counters has a value yet (\"Unavailable\")");
    return n;
}

bool hm_flow_is_known(const struct hm_flow *flow)
{
    return flow->source && hm_total_is_known(&flow->total);
}

int hm_flows_sum(const struct hm_gauges *gauges, const struct hm_counters_tried *tried, int n_tried,
                 const struct hm_tiers *tiers, struct hm_flow flows[HM_MOST_FLOWS])
{
    int n = 0;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        int first = n;
        n = sum_quantity(gauges, rows[r].quantity, flows, n);
        if (tiers && rows[r].is_asked && !is_energy(rows[r].quantity))
            name_tiers(flows, first, &n, rows[r].quantity, tiers, tried, n_tried);
        if (n == first && rows[r].is_asked && n < HM_MOST_FLOWS) {
            flows[n] = (struct hm_flow){.quantity = rows[r].quantity, .socket = -1};
            explain(&flows[n++], tried, n_tried);
        }
        for (int i = first; i < n; i++)
            name_flow(&flows[i], rows[r].name);
    }
    return n;
}
