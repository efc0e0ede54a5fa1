/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

/*
 * Intel: all retired loads and all retired stores, not cache misses. A sample stands for as many accesses as its
 * period, the event tells loads from stores, and no privilege is needed. 0x81d0 and 0x82d0 are the same from Skylake to
 * Granite Rapids (MEM_INST_RETIRED.ALL_LOADS and ALL_STORES in Intel's event lists, with PEBS and data address). Load
 * latency events (0x01cd) would need a group leader from Sapphire Rapids on, and see no stores.
 */
#define INTEL_LOADS_AND_STORES                                                                                         \
    .period_multiple = 1, .n_events = 2,                                                                               \
    .event = {                                                                                                         \
        {"loads", 0x81d0, 0, 2, HM_PERF_LOADS},                                                                        \
        {"stores", 0x82d0, 0, 2, HM_PERF_STORES},                                                                      \
    }

/*
 * IbsOpCntCtl in AMD's MSRC001_1033: count dispatched operations instead of cycles, so that each operation is equally
 * likely to be sampled.
 */
#define IBS_COUNT_OPERATIONS (UINT64_C(1) << 19)

/*
 * Arm's Statistical Profiling Extension, where PMU and processor have it: one of PERIOD operations is sampled, whatever
 * it is, and those that are no loads or stores are not written. So a sample stands for as many accesses as its period,
 * as with IBS. Jitter: the period varies by up to 256, so that it does not run in step with a loop. PMSIRR_EL1.INTERVAL
 * has 24 bits, the lower 8 of 32 being 0. The kernel makes too short a period longer without a word. What is too short
 * depends on the processor (PMSIDR_EL1.Interval), but 4096 never is.
 */
#define SPE_LOADS_AND_STORES "load_filter,store_filter,jitter"
#define SPE_PERIOD .period_multiple = 256, .period_least = 4096, .period_most = UINT64_C(0xffffff00)

static const struct hm_perf_processor processors[] = {
    {.name = "Intel Skylake-SP, Cascade Lake or Cooper Lake",
     .vendor = "GenuineIntel",
     .family_low = 6,
     .family_high = 6,
     .model = {0x55},
     INTEL_LOADS_AND_STORES},
    {.name = "Intel Ice Lake",
     .vendor = "GenuineIntel",
     .family_low = 6,
     .family_high = 6,
     .model = {0x6a, 0x6c},
     INTEL_LOADS_AND_STORES},
    {.name = "Intel Sapphire Rapids or Emerald Rapids",
     .vendor = "GenuineIntel",
     .family_low = 6,
     .family_high = 6,
     .model = {0x8f, 0xcf},
     INTEL_LOADS_AND_STORES},
    {.name = "Intel Granite Rapids",
     .vendor = "GenuineIntel",
     .family_low = 6,
     .family_high = 6,
     .model = {0xad, 0xae},
     INTEL_LOADS_AND_STORES},
    {.name = "AMD Zen",
     .vendor = "AuthenticAMD",
     .family_low = 0x17,
     .family_high = 0x1a,
     .pmu = "ibs_op",
     .user_only_config2 = 1, /* swfilt */
     .period_multiple = 16,  /* the counter's lower four bits cannot be set */
     .n_events = 1,
     .event = {{"operations", IBS_COUNT_OPERATIONS, 0, 0, HM_PERF_BOTH}}},
    {.name = "Arm",
     .vendor = "Arm",
     .family_high = UINT32_MAX,
     .pmu = "arm_spe_0",
     .terms = SPE_LOADS_AND_STORES,
     .has_packets = true,
     SPE_PERIOD,
     .n_events = 1,
     .event = {{"operations", 0, 0, 0, HM_PERF_BOTH}}},
};

const struct hm_perf_processor *hm_perf_processor_at(int n)
{
    return n >= 0 && n < N_ROWS(processors) ? &processors[n] : NULL;
}

/* Finds the first line "KEY   : VALUE". Returns where VALUE begins, or NULL. */
static const char *find_value(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) != 0)
            continue;
        const char *colon = line + length + strspn(line + length, " \t");
        if (*colon == ':')
            return colon + 1 + strspn(colon + 1, " \t");
    }
    return NULL;
}

static unsigned find_number(const char *text, const char *key)
{
    const char *value = find_value(text, key);
    return value ? (unsigned)strtoul(value, NULL, 10) : 0;
}

static bool has_word(const char *line, const char *word)
{
    size_t length = strlen(word);
    while (line && *line && *line != '\n') {
        size_t here = strcspn(line, " \n");
        if (here == length && strncmp(line, word, length) == 0)
            return true;
        line += here + (line[here] == ' ');
    }
    return false;
}

int hm_perf_parse_cpu(const char *cpuinfo, struct hm_perf_cpu *cpu)
{
    const char *vendor = find_value(cpuinfo, "vendor_id");
    *cpu = (struct hm_perf_cpu){.family = find_number(cpuinfo, "cpu family"), .model = find_number(cpuinfo, "model")};
    if (!vendor && find_value(cpuinfo, "CPU implementer"))
        vendor = "Arm\n";
    if (!vendor)
        return -1;
    snprintf(cpu->vendor, sizeof(cpu->vendor), "%.*s", (int)strcspn(vendor, "\n"), vendor);
    cpu->is_virtual = has_word(find_value(cpuinfo, "flags"), "hypervisor");
    return 0;
}

static bool has_model(const struct hm_perf_processor *row, unsigned model)
{
    for (int i = 0; i < N_ROWS(row->model) && row->model[i]; i++)
        if (row->model[i] == model)
            return true;
    return row->model[0] == 0;
}

const struct hm_perf_processor *hm_perf_find_processor(const struct hm_perf_cpu *cpu)
{
    const struct hm_perf_processor *row;
    for (int i = 0; (row = hm_perf_processor_at(i)) != NULL; i++)
        if (strcmp(row->vendor, cpu->vendor) == 0 && cpu->family >= row->family_low &&
            cpu->family <= row->family_high && has_model(row, cpu->model))
            return row;
    return NULL;
}
