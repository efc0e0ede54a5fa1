/* SPDX-License-Identifier: Apache-2.0 */
#include "sources.h"

#include <stdio.h>

#include "processor.h"

static const struct hm_counter_source *const rows[HM_METERS] = {
#define HM_METER(name) &hm_meter_##name,
#include "meter/sources/meters.def"
};

const struct hm_counter_source *hm_counter_source_at(int i)
{
    return i >= 0 && i < HM_METERS ? rows[i] : NULL;
}

bool hm_counter_is_twin(const struct hm_counters_setup *setup, const struct hm_gauges *gauges,
                        const struct hm_gauge *like)
{
    for (size_t i = 0; i < gauges->n && like->quantity == HM_PACKAGE_ENERGY && like->socket >= 0; i++)
        if (gauges->gauge[i].source == like->source && gauges->gauge[i].quantity == like->quantity &&
            gauges->gauge[i].socket == like->socket)
            return hm_processor_is_amd(setup->sysfs);
    return false;
}

int hm_counters_find(const struct hm_counters_setup *setup, struct hm_gauges *gauges,
                     struct hm_counters_tried tried[HM_METERS])
{
    for (int i = 0; i < HM_METERS; i++) {
        struct hm_error reason = {""};
        tried[i] = (struct hm_counters_tried){.source = rows[i], .first = gauges->n};
        if (rows[i]->find(setup, gauges, i, &reason) != 0 && gauges->n > tried[i].first)
            hm_gauges_close(gauges, tried[i].first);
        tried[i].n = gauges->n - tried[i].first;
        snprintf(tried[i].reason, sizeof(tried[i].reason), "%s", reason.text);
    }
    return HM_METERS;
}
