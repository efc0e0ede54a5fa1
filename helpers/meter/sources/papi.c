/* SPDX-License-Identifier: Apache-2.0 */
/* The two sources that are helper programs: PAPI, read by hybridmem-papi, and Slurm, read by hybridmem-slurmenergy. */
#include <errno.h>
#include <stdio.h>

#include "core/tiers/tiers.h"
#include "sources.h"

#define LATER_MS 10000 /* where setup->later is set: time that a program has to describe its counters */

static const enum hm_quantity quantities[HM_PAPI_N_MEASURES] = {
    [HM_PAPI_PACKAGE_ENERGY] = HM_PACKAGE_ENERGY,   [HM_PAPI_MEMORY_ENERGY] = HM_MEMORY_ENERGY,
    [HM_PAPI_PLATFORM_ENERGY] = HM_PLATFORM_ENERGY, [HM_PAPI_READ_BYTES] = HM_READ_BYTES,
    [HM_PAPI_WRITE_BYTES] = HM_WRITE_BYTES,         [HM_PAPI_COUNT] = HM_N_QUANTITIES,
};

/* The names of the programs in texts for people: what each of them asks. */
static const char *const names[HM_N_PROGRAMS] = {[HM_PROGRAM_PAPI] = "PAPI", [HM_PROGRAM_SLURMENERGY] = "Slurm"};

enum hm_quantity hm_counter_quantity(enum hm_papi_measure measure)
{
    return quantities[measure];
}

/* Does a better source have this quantity? */
static bool better_source_has(const struct hm_gauges *gauges, int source, enum hm_quantity quantity, enum hm_kind kind)
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
    struct hm_gauge like = {.quantity = hm_counter_quantity(event->measure),
                            .kind = event->kind,
                            .socket = event->socket,
                            .source = source,
                            .factor = hm_papi_unit_factor(event->unit),
                            .spans_gaps = hm_papi_programs[program].may_be_late,
                            .counter = {.modulus = event->modulus}};
    if (like.quantity == HM_N_QUANTITIES)
        return hm_fail(reason, EBADMSG, "%s: this counter was not asked for", event->name);
    like.counter.most_per_s = hm_quantity_most_per_s(like.quantity) / like.factor;
    snprintf(like.name, sizeof(like.name), "%s", event->name);
    return hm_gauges_add_asked(gauges, &like, program, i, reason);
}

/* Might this source have something that no better source has? */
static bool is_needed(const struct hm_tiers *tiers, const struct hm_gauges *gauges, int source)
{
    unsigned gives = hm_counter_source_at(source)->gives;
    for (enum hm_quantity q = HM_PACKAGE_ENERGY; q <= HM_PLATFORM_ENERGY; q++)
        if (gives & HM_GIVES(q) && !better_source_has(gauges, source, q, HM_KIND_UNKNOWN))
            return true;
    for (enum hm_quantity q = HM_READ_BYTES; q <= HM_WRITE_BYTES; q++)
        for (int t = 0; t < tiers->n_tiers && gives & HM_GIVES(q); t++)
            if (tiers->tier[t].kind != HM_KIND_UNKNOWN && !better_source_has(gauges, source, q, tiers->tier[t].kind))
                return true;
    return false;
}

static void stop(struct hm_gauges *gauges, enum hm_papi_program program)
{
    hm_papi_reader_stop(gauges->reader[program]);
    gauges->reader[program] = NULL;
}

/* Add the counters that the program has described: for a list all of them, else only those that no better source has.
 * Returns 0, or -1 after ending the program. */
static int join(struct hm_gauges *gauges, enum hm_papi_program program, bool is_list, struct hm_error *reason)
{
    const struct hm_papi_reader *reader = gauges->reader[program];
    int source = gauges->reader_source[program];
    size_t before = gauges->n;
    int result = hm_papi_reader_described(reader, reason);
    for (unsigned i = 0; result == 0 && i < hm_papi_reader_count(reader); i++) {
        const struct hm_papi_event *event = hm_papi_reader_event(reader, i);
        if (is_list || !better_source_has(gauges, source, hm_counter_quantity(event->measure), event->kind))
            result = add_event(gauges, source, program, i, reason);
    }
    if (result == 0 && gauges->n == before)
        result = hm_fail(reason, EEXIST, "better sources have all that %s has", names[program]);
    if (result == 0)
        return 0;
    gauges->n = before; /* these gauges have no open descriptor */
    stop(gauges, program);
    return -1;
}

size_t hm_counters_join(struct hm_gauges *gauges, struct hm_counters_tried tried[HM_METERS],
                        enum hm_papi_program program)
{
    struct hm_error reason = {""};
    struct hm_counters_tried *row = &tried[gauges->reader_source[program]];
    row->first = gauges->n;
    join(gauges, program, false, &reason);
    row->n = gauges->n - row->first;
    snprintf(row->reason, sizeof(row->reason), "%s", reason.text);
    return row->n;
}

static int find(enum hm_papi_program program, const char *path, const struct hm_counters_setup *setup,
                struct hm_gauges *gauges, int source, struct hm_error *reason)
{
    if (!path)
        return hm_fail(reason, ENOENT, "%s is not asked: %s", names[program], setup->not_asked);
    if (setup->later && !is_needed(setup->later, gauges, source))
        return hm_fail(reason, EEXIST, "better sources have all that %s could have", names[program]);
    gauges->reader_source[program] = source;
    gauges->reader[program] = setup->later ? hm_papi_reader_begin(program, path, LATER_MS, reason)
                                           : hm_papi_reader_start(program, path, reason);
    if (!gauges->reader[program])
        return -1;
    if (!setup->later)
        return join(gauges, program, setup->is_list, reason);
    hm_papi_reader_described(gauges->reader[program], reason); /* `reason`: it has not answered yet */
    return 0;
}

static int find_papi(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source,
                     struct hm_error *reason)
{
    return find(HM_PROGRAM_PAPI, setup->papi, setup, gauges, source, reason);
}

static int find_slurm(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source,
                      struct hm_error *reason)
{
    return find(HM_PROGRAM_SLURMENERGY, setup->slurm, setup, gauges, source, reason);
}

const struct hm_counter_source hm_meter_papi = {
    .name = "papi",
    .gives = HM_GIVES_ENERGY | HM_GIVES_TRAFFIC,
    .covers = HM_COVERS_SOCKETS,
    .measures = "energy, and bytes that Intel's memory controllers move, by kind of memory (PAPI, by hybridmem-papi)",
    .unit = "2^-32 J, microjoule, nanojoule or 64 bytes, by PAPI's component",
    .wraps = "PAPI's component powercap at max_energy_range_uj, the others not in a lifetime",
    .needs = "what PAPI's components need: root, or CAP_PERFMON for perf_event_uncore",
    .find = find_papi,
};

const struct hm_counter_source hm_meter_slurm = {
    .name = "slurm",
    .gives = HM_GIVES(HM_PLATFORM_ENERGY),
    .covers = "the node, whatever runs on it",
    .measures = "energy of the node, as slurmd has it (Slurm's acct_gather_energy of ipmi, xcc or pm_counters)",
    .unit = "joule",
    .wraps = "not in a lifetime; of ipmi and xcc it begins anew with slurmd",
    .needs = "root or SlurmUser, and slurmd on this node",
    .find = find_slurm,
};
