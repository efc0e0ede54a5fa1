/* SPDX-License-Identifier: Apache-2.0 */
/* The source that is PAPI, by way of hybridmem-papi. */
#include <errno.h>
#include <stdio.h>

#include "counters.h"

static const enum hm_quantity quantities[HM_PAPI_N_MEASURES] = {
    [HM_PAPI_PACKAGE_ENERGY] = HM_PACKAGE_ENERGY,   [HM_PAPI_MEMORY_ENERGY] = HM_MEMORY_ENERGY,
    [HM_PAPI_PLATFORM_ENERGY] = HM_PLATFORM_ENERGY, [HM_PAPI_READ_BYTES] = HM_READ_BYTES,
    [HM_PAPI_WRITE_BYTES] = HM_WRITE_BYTES,         [HM_PAPI_COUNT] = HM_N_QUANTITIES,
};

/* Has a better source the same? */
static bool is_there(const struct hm_gauges *gauges, int source, enum hm_quantity quantity, enum hm_kind kind)
{
    for (size_t i = 0; i < gauges->n; i++)
        if (gauges->gauge[i].quantity == quantity && gauges->gauge[i].kind == kind && gauges->gauge[i].source < source)
            return true;
    return false;
}

static int add_event(struct hm_gauges *gauges, int source, unsigned i, struct hm_error *reason)
{
    const struct hm_papi_event *event = hm_papi_reader_event(gauges->papi, i);
    struct hm_gauge like = {.quantity = quantities[event->measure],
                            .kind = event->kind,
                            .socket = event->socket,
                            .source = source,
                            .factor = hm_papi_unit_factor(event->unit),
                            .counter = {.modulus = event->modulus}};
    if (like.quantity == HM_N_QUANTITIES)
        return hm_fail(reason, EBADMSG, "%s: hybridmem-papi was not asked for it", event->name);
    like.counter.most_per_s = hm_quantity_most_per_s(like.quantity) / like.factor;
    snprintf(like.name, sizeof(like.name), "%s", event->name);
    return hm_gauges_add_papi(gauges, &like, i, reason);
}

int hm_papi_find(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source, struct hm_error *reason)
{
    if (!setup->papi)
        return hm_fail(reason, ENOENT, "PAPI is not asked: hybridmem meter does, and of this machine alone");
    size_t before = gauges->n;
    gauges->papi = hm_papi_reader_start(setup->papi, reason);
    if (!gauges->papi)
        return -1;
    for (unsigned i = 0; i < hm_papi_reader_count(gauges->papi); i++) {
        const struct hm_papi_event *event = hm_papi_reader_event(gauges->papi, i);
        bool is_wanted = setup->is_list || !is_there(gauges, source, quantities[event->measure], event->kind);
        if (is_wanted && add_event(gauges, source, i, reason) != 0)
            return -1;
    }
    if (gauges->n > before)
        return 0;
    hm_papi_reader_stop(gauges->papi);
    gauges->papi = NULL;
    return hm_fail(reason, EEXIST, "better sources have all that PAPI has");
}
