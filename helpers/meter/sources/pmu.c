/* SPDX-License-Identifier: Apache-2.0 */
/* The sources that are perf events of PMUs. sysfs describes the PMUs below bus/event_source/devices. */

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/set.h"
#include "base/sysfile.h"
#include "core/tiers/tiers.h"
#include "pmutable.h"
#include "processor.h"
#include "sources.h"

#define DEVICES "bus/event_source/devices"
/* Perf events of the uncore and of energy count whatever runs, so the kernel shows them only to those who may see
 * everything. */
#define PERF_NEEDS "root, CAP_PERFMON, or kernel.perf_event_paranoid of 0 or less"

struct finding {
    const struct hm_counters_setup *setup;
    struct hm_gauges *gauges;
    size_t before; /* number of gauges of earlier sources */
    int source;
    char **pmu;
    int n_pmus;
    struct hm_error *reason;
};

struct pmu_folder {
    int sysfs;
    const char *pmu;
};

static int look_up(void *data, const char *term, char *text)
{
    const struct pmu_folder *folder = data;
    char path[256];
    snprintf(path, sizeof(path), DEVICES "/%.64s/format/%s", folder->pmu, term);
    return hm_sysfile_read(folder->sysfs, path, text, HM_PMU_TEXT);
}

/* Find the terms of the event. Returns 1, 0 where the PMU has no such event here, or -1. */
static int find_terms(const struct finding *finding, const struct hm_pmu_row *row, const char *pmu, char *terms)
{
    char path[192];
    if (row->terms) {
        snprintf(terms, HM_PMU_TEXT, "%s", row->terms);
        return hm_processor_matches(finding->setup->sysfs, row->processor);
    }
    snprintf(path, sizeof(path), DEVICES "/%.64s/events/%s", pmu, row->event);
    if (hm_sysfile_read(finding->setup->sysfs, path, terms, HM_PMU_TEXT) == 0)
        return 1;
    return errno == ENOENT ? 0 : hm_fail_errno(finding->reason, "%s", path);
}

/* Find the joules per count, from EVENT.scale and EVENT.unit, or bytes per count from the row. Returns 0, or -1. */
static int find_factor(const struct finding *finding, const struct hm_pmu_row *row, const char *pmu, double *factor)
{
    char path[192], text[HM_PMU_TEXT];
    *factor = row->factor;
    if (row->factor > 0)
        return 0;
    snprintf(path, sizeof(path), DEVICES "/%.64s/events/%s.unit", pmu, row->event);
    if (hm_sysfile_read(finding->setup->sysfs, path, text, sizeof(text)) != 0)
        return hm_fail_errno(finding->reason, "%s", path);
    if (strcmp(text, "Joules") != 0)
        return hm_fail(finding->reason, EINVAL, "%s: \"%.32s\" where Joules is expected", path, text);
    snprintf(path, sizeof(path), DEVICES "/%.64s/events/%s.scale", pmu, row->event);
    if (hm_sysfile_read(finding->setup->sysfs, path, text, sizeof(text)) != 0)
        return hm_fail_errno(finding->reason, "%s", path);
    return hm_pmu_parse_scale(text, factor, finding->reason);
}

static int find_type(const struct finding *finding, const char *pmu, uint32_t *type)
{
    char path[128];
    uint64_t number;
    snprintf(path, sizeof(path), DEVICES "/%.64s/type", pmu);
    if (hm_sysfile_read_number(finding->setup->sysfs, path, &number) != 0)
        return hm_fail_errno(finding->reason, "%s", path);
    *type = (uint32_t)number;
    return number <= UINT32_MAX ? 0 : hm_fail(finding->reason, EINVAL, "%s is 2^32 or more", path);
}

/* Open the row's event of one PMU on all of its CPUs. Returns 0, also where the PMU does not have the event, or -1. */
static int add_event(struct finding *finding, const struct hm_pmu_row *row, const char *pmu)
{
    char terms[HM_PMU_TEXT];
    struct pmu_folder folder = {finding->setup->sysfs, pmu};
    struct hm_gauge gauge = {.source = finding->source, .quantity = row->quantity, .kind = row->kind};
    struct hm_pmu_config config;
    struct hm_error why = {""};
    struct hm_set cpus;
    uint32_t type = 0;
    int found = find_terms(finding, row, pmu, terms);
    if (found <= 0)
        return found;
    if (hm_pmu_parse_event(terms, look_up, &folder, &config, &why) != 0)
        return hm_fail(finding->reason, errno, "%.64s/%s: %s", pmu, row->event, why.text);
    if (find_factor(finding, row, pmu, &gauge.factor) != 0 || find_type(finding, pmu, &type) != 0 ||
        hm_processor_cpus_of(finding->setup->sysfs, pmu, &cpus, finding->reason) != 0)
        return -1;
    gauge.counter.most_per_s = hm_quantity_most_per_s(row->quantity) / gauge.factor;
    for (int cpu = hm_set_next(&cpus, 0); cpu >= 0; cpu = hm_set_next(&cpus, (unsigned)cpu + 1)) {
        gauge.socket = hm_processor_socket_of(finding->setup->sysfs, cpu);
        if (hm_counter_is_twin(finding->setup, finding->gauges, &gauge))
            continue;
        snprintf(gauge.name, sizeof(gauge.name), "%.64s/%s on CPU %d", pmu, row->event, cpu);
        if (hm_gauges_add_event(finding->gauges, &gauge, type, &config, cpu, finding->reason) != 0)
            return -1;
    }
    return 0;
}

static bool has_tier(const struct hm_tiers *tiers, enum hm_kind kind)
{
    for (int t = 0; t < tiers->n_tiers; t++)
        if (tiers->tier[t].kind == kind)
            return true;
    return false;
}

static int add_row(struct finding *finding, const struct hm_pmu_rows *rows, size_t r)
{
    const struct hm_pmu_row *row = &rows->row[r];
    const struct hm_tiers *tiers = finding->setup->later;
    /* Most processors that can have PMem have none. The events of DRAM take half of a controller's counters. Those of
     * PMem would take the other half, which other programs may need. */
    if (row->kind == HM_KIND_PMEM && tiers && !has_tier(tiers, HM_KIND_PMEM))
        return 0;
    for (size_t i = finding->before; i < finding->gauges->n && !hm_pmu_rows_adds(rows, r); i++)
        if (finding->gauges->gauge[i].quantity == row->quantity && finding->gauges->gauge[i].kind == row->kind)
            return 0;
    for (int i = 0; i < finding->n_pmus; i++)
        if (fnmatch(row->pmu, finding->pmu[i], 0) == 0 && add_event(finding, row, finding->pmu[i]) != 0)
            return -1;
    return 0;
}

static int find(struct finding *finding, const struct hm_pmu_rows *rows)
{
    int result = 0, n_found = 0;
    finding->before = finding->gauges->n;
    finding->n_pmus = hm_sysfile_list(finding->setup->sysfs, DEVICES, rows->pmus, &finding->pmu);
    if (finding->n_pmus < 0 && errno != ENOENT)
        return hm_fail_errno(finding->reason, DEVICES);
    if (finding->n_pmus > 0) {
        n_found = finding->n_pmus;
        for (size_t r = 0; r < rows->n && result == 0; r++)
            result = add_row(finding, rows, r);
    }
    if (finding->n_pmus >= 0)
        hm_sysfile_free(finding->pmu, finding->n_pmus);
    if (result != 0 || finding->gauges->n > finding->before)
        return result;
    if (n_found > 0)
        return hm_fail(finding->reason, ENOENT,
                       "no event described: the kernel has %s, but describes none of its events", rows->what);
    return hm_fail(finding->reason, ENOENT, "the kernel has no PMU %s (a virtual machine, or another processor)",
                   rows->what);
}

#define FIND(table)                                                                                                    \
    find(&(struct finding){.setup = setup, .gauges = gauges, .source = source, .reason = reason}, hm_pmu_rows(table))

static int find_energy(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source,
                       struct hm_error *reason)
{
    return FIND(HM_PMU_ENERGY);
}

static int find_imc(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source,
                    struct hm_error *reason)
{
    return FIND(HM_PMU_IMC);
}

static bool has_pmu(const struct hm_counters_setup *setup, const char *pattern)
{
    char **names;
    int n = hm_sysfile_list(setup->sysfs, DEVICES, pattern, &names);
    if (n >= 0)
        hm_sysfile_free(names, n);
    return n > 0;
}

/*
 * AMD's data fabric (amd_df) is not used as a source. Its events dram_channel_data_controller_0 to _7 (data-fabric.json
 * of amdzen1 to amdzen3) count a channel's requests in both directions, and it has only four counters (NUM_COUNTERS_NB
 * in arch/x86/events/amd/uncore.c), so that eight channels at once could only be extrapolated.
 */
static int find_amd(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source,
                    struct hm_error *reason)
{
    if (has_pmu(setup, "amd_df") && !has_pmu(setup, "amd_umc_*"))
        return hm_fail(reason, ENOENT,
                       "the kernel has no PMU amd_umc, as Zen 4 and later have; amd_df has four counters for eight "
                       "channels up to Zen 3, and does not tell reads from writes");
    return FIND(HM_PMU_AMD);
}

static int find_cxl(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source,
                    struct hm_error *reason)
{
    return FIND(HM_PMU_CXL);
}

static int find_grace(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source,
                      struct hm_error *reason)
{
    return FIND(HM_PMU_GRACE);
}

const struct hm_counter_source hm_meter_perf_energy = {
    .name = "perf-energy",
    .gives = HM_GIVES_ENERGY,
    .covers = HM_COVERS_SOCKETS,
    .measures = "energy of the package and of DRAM, of the platform (PMU power, RAPL)",
    .unit = "what its event's scale says",
    .wraps = HM_NEVER_WRAPS,
    .needs = PERF_NEEDS,
    .find = find_energy,
};

const struct hm_counter_source hm_meter_perf_imc = {
    .name = "perf-imc",
    .gives = HM_GIVES_TRAFFIC,
    .covers = HM_COVERS_SOCKETS,
    .measures = "bytes read and written by kind of memory (PMUs uncore_imc and uncore_hbm of Intel)",
    .unit = "64 bytes, of HBM 32",
    .wraps = HM_NEVER_WRAPS,
    .needs = PERF_NEEDS,
    .find = find_imc,
};

const struct hm_counter_source hm_meter_perf_amd = {
    .name = "perf-amd",
    .gives = HM_GIVES_TRAFFIC,
    .covers = HM_COVERS_SOCKETS,
    .measures = "bytes read and written (PMUs amd_umc of AMD's servers, Zen 4 and 5)",
    .unit = "64 bytes",
    .wraps = HM_NEVER_WRAPS,
    .needs = PERF_NEEDS,
    .find = find_amd,
};

const struct hm_counter_source hm_meter_grace_cpus = {
    .name = "grace-cpus",
    .gives = HM_GIVES_TRAFFIC,
    .covers = "each socket's own memory, by the CPUs of all sockets; not by GPUs and PCIe devices",
    .measures = "bytes that CPUs read from and write to DRAM (PMUs nvidia_scf_pmu of Grace)",
    .unit = "32 bytes read, 1 byte written",
    .wraps = HM_NEVER_WRAPS,
    .needs = PERF_NEEDS,
    .find = find_grace,
};

const struct hm_counter_source hm_meter_cxl = {
    .name = "cxl",
    .gives = HM_GIVES_TRAFFIC,
    .covers = "the node, whatever runs on it",
    .measures = "bytes read from and written to CXL memory, whole lines (PMUs cxl_pmu_mem)",
    .unit = "64 bytes",
    .wraps = HM_NEVER_WRAPS,
    .needs = PERF_NEEDS,
    .find = find_cxl,
};
