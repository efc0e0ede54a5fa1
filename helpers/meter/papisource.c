/* SPDX-License-Identifier: Apache-2.0 */
/* The sources that have a program of their own: PAPI, by hybridmem-papi, and Slurm, by hybridmem-slurmenergy. */
#include <errno.h>
#include <stdio.h>

#include "counters.h"

static const enum hm_quantity quantities[HM_PAPI_N_MEASURES] = {
    [HM_PAPI_PACKAGE_ENERGY] = HM_PACKAGE_ENERGY,   [HM_PAPI_MEMORY_ENERGY] = HM_MEMORY_ENERGY,
    [HM_PAPI_PLATFORM_ENERGY] = HM_PLATFORM_ENERGY, [HM_PAPI_READ_BYTES] = HM_READ_BYTES,
    [HM_PAPI_WRITE_BYTES] = HM_WRITE_BYTES,         [HM_PAPI_COUNT] = HM_N_QUANTITIES,
};

/* Who is asked, for people. */
static const char *const asked[HM_N_PROGRAMS] = {[HM_PROGRAM_PAPI] = "PAPI", [HM_PROGRAM_SLURMENERGY] = "Slurm"};

/* Has a better source the same? */
static bool is_there(const struct hm_gauges *gauges, int source, enum hm_quantity quantity, enum hm_kind kind)
{
    for (size_t i = 0; i < gauges->n; i++)
        if (gauges->gauge[i].quantity == quantity && gauges->gauge[i].kind == kind && gauges->gauge[i].source < source)
            return true;
    return false;
}

static int add_event(struct hm_gauges *gauges, int source, enum hm_papi_program program, unsigned i,
                     struct hm_error *reason)
{
    const struct hm_papi_event *event = hm_papi_reader_event(gauges->reader[program], i);
    struct hm_gauge like = {.quantity = quantities[event->measure],
                            .kind = event->kind,
                            .socket = event->socket,
                            .source = source,
                            .factor = hm_papi_unit_factor(event->unit),
                            .counter = {.modulus = event->modulus}};
    if (like.quantity == HM_N_QUANTITIES)
        return hm_fail(reason, EBADMSG, "%s: its program was not asked for it", event->name);
    like.counter.most_per_s = hm_quantity_most_per_s(like.quantity) / like.factor;
    snprintf(like.name, sizeof(like.name), "%s", event->name);
    return hm_gauges_add_asked(gauges, &like, program, i, reason);
}

static int find(enum hm_papi_program program, const char *path, bool is_list, struct hm_gauges *gauges, int source,
                struct hm_error *reason)
{
    if (!path)
        return hm_fail(reason, ENOENT, "%s is not asked: hybridmem meter without --sysfs asks it", asked[program]);
    size_t before = gauges->n;
    struct hm_papi_reader *reader = hm_papi_reader_start(program, path, reason);
    gauges->reader[program] = reader;
    if (!reader)
        return -1;
    for (unsigned i = 0; i < hm_papi_reader_count(reader); i++) {
        const struct hm_papi_event *event = hm_papi_reader_event(reader, i);
        bool is_wanted = is_list || !is_there(gauges, source, quantities[event->measure], event->kind);
        if (is_wanted && add_event(gauges, source, program, i, reason) != 0)
            return -1;
    }
    if (gauges->n > before)
        return 0;
    hm_papi_reader_stop(reader);
    gauges->reader[program] = NULL;
    return hm_fail(reason, EEXIST, "better sources have all that %s has", asked[program]);
}

int hm_papi_find(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source, struct hm_error *reason)
{
    return find(HM_PROGRAM_PAPI, setup->papi, setup->is_list, gauges, source, reason);
}

int hm_slurm_find(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source, struct hm_error *reason)
{
    return find(HM_PROGRAM_SLURMENERGY, setup->slurm, setup->is_list, gauges, source, reason);
}
