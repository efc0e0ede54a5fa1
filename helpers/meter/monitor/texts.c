/* SPDX-License-Identifier: Apache-2.0 */
#include "texts.h"

#include <string.h>

#include "meter/count/reasons.h"

/* Where no figure is known, choose the quantity whose reason is given. That is the first quantity with a counter. If
 * none has one, it is `first`; but for energy it is the platform's, as its reason names the most sources. */
static enum hm_quantity choose_quantity(const struct hm_flow *flow, int n, enum hm_quantity first,
                                        enum hm_quantity last)
{
    for (int i = 0; i < n; i++)
        if (flow[i].quantity >= first && flow[i].quantity <= last && flow[i].source)
            return flow[i].quantity;
    return last == HM_PLATFORM_ENERGY ? last : first;
}

/*
 * Add the sources that counted the quantities from `first` to `last`, and why the rest of these quantities is unknown.
 * Where all are unknown, one reason stands for all. Where another quantity is known, a missing figure for the platform
 * is not mentioned, unless Slurm was asked for it.
 */
static void add_flows(struct hm_reasons *reasons, const struct hm_flow *flow, int n, enum hm_quantity first,
                      enum hm_quantity last, bool is_slurm_asked)
{
    const char *text = reasons->text;
    for (int i = 0; i < n; i++)
        if (flow[i].quantity >= first && flow[i].quantity <= last && hm_flow_is_known(&flow[i]) &&
            !strstr(text, flow[i].source))
            hm_reasons_add(reasons, ", ", "%s", flow[i].source);
    bool has_figures = text[0];
    if (!has_figures)
        first = choose_quantity(flow, n, first, last);
    for (int i = 0; i < n && (has_figures || !text[0]); i++)
        if (flow[i].quantity >= first && flow[i].quantity <= last && !hm_flow_is_known(&flow[i]) &&
            !(has_figures && !is_slurm_asked && flow[i].quantity == HM_PLATFORM_ENERGY))
            hm_reasons_add(reasons, "; ", "%s%s%s", has_figures ? flow[i].name : "", has_figures ? ": " : "",
                           flow[i].reason.text[0] ? flow[i].reason.text : "it was read only once");
}

static void describe(const struct hm_monitor_meter *meter, char text[HM_METERED_SOURCE], int n, enum hm_quantity first,
                     enum hm_quantity last)
{
    struct hm_reasons reasons = hm_reasons_begin(text, HM_METERED_SOURCE);
    add_flows(&reasons, meter->flow, n, first, last, meter->is_slurm_asked);
    hm_reasons_end(&reasons);
}

static bool has_flow(const struct hm_flow *flow, int n, enum hm_quantity quantity)
{
    for (int i = 0; i < n; i++)
        if (flow[i].quantity == quantity)
            return true;
    return false;
}

/* Say how many counters had no value; there is one for each last-level cache. The figure is complete even so: the
 * kernel itself says that no task of the job has used that cache. */
static void add_silent(struct hm_reasons *reasons, const struct hm_flow *flow, int n)
{
    for (int i = 0; i < n; i++)
        if (flow[i].n_silent > 0 && hm_flow_is_known(&flow[i]))
            hm_reasons_add(reasons, "; ", "%s: %d of its counters had no value (\"Unavailable\")", flow[i].name,
                           flow[i].n_silent);
}

/* Describe the group. Where it has no counter, give the source's reason. Some processors have only one of the two
 * counters. */
static void describe_group(const struct hm_monitor_meter *meter, char text[HM_METERED_SOURCE],
                           const struct hm_flow *flow, int n)
{
    bool has_total = has_flow(flow, n, HM_TOTAL_BYTES), has_local = has_flow(flow, n, HM_LOCAL_BYTES);
    struct hm_reasons reasons = hm_reasons_begin(text, HM_METERED_SOURCE);
    add_flows(&reasons, flow, n, HM_TOTAL_BYTES, HM_LOCAL_BYTES, false);
    add_silent(&reasons, flow, n);
    if (has_total != has_local)
        hm_reasons_add(&reasons, "; ", "the processor does not count %s", has_total ? "local bytes" : "total bytes");
    for (int i = 0; i < meter->n_tried && !has_total && !has_local; i++)
        if (meter->tried[i].source->gives & HM_GIVES(HM_TOTAL_BYTES))
            hm_reasons_add(&reasons, "; ", "%s", meter->tried[i].reason);
    hm_reasons_end(&reasons);
}

void hm_monitor_sources(const struct hm_monitor_meter *meter, int n, struct hm_metered *metered)
{
    describe(meter, metered->energy_source, n, HM_PACKAGE_ENERGY, HM_PLATFORM_ENERGY);
    describe(meter, metered->traffic_source, n, HM_READ_BYTES, HM_WRITE_BYTES);
    if (meter->has_group)
        describe_group(meter, metered->group_source, meter->flow, n);
}
