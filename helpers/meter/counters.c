/* SPDX-License-Identifier: Apache-2.0 */
#include "counters.h"

#include <errno.h>
#include <stdio.h>

#include "pmusource.h"

/* perf events of the uncore and of energy count whatever runs: the kernel shows them to who may see all of it. */
#define PERF_NEEDS "root, CAP_PERFMON, or kernel.perf_event_paranoid of 0 or less"
#define ENERGY (HM_GIVES(HM_PACKAGE_ENERGY) | HM_GIVES(HM_MEMORY_ENERGY) | HM_GIVES(HM_PLATFORM_ENERGY))
#define TRAFFIC (HM_GIVES(HM_READ_BYTES) | HM_GIVES(HM_WRITE_BYTES))
#define PERF_WRAPS "not in a lifetime: the kernel extends it to 64 bits"

/* A program of its own will ask PAPI: it may end the process that calls it. */
static int find_papi(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source,
                     struct hm_error *reason)
{
    (void)setup, (void)gauges, (void)source;
    return hm_fail(reason, ENOSYS, "this version does not read PAPI");
}

static const struct hm_counter_source sources[] = {
    {"powercap", ENERGY, "sockets", "energy of the package and of DRAM, of the platform where there is psys (RAPL)",
     "microjoule", "at max_energy_range_uj, after minutes",
     "root (energy_uj is readable by root only since Linux 5.10)", hm_powercap_find},
    {"perf-energy", ENERGY, "sockets", "energy of the package and of DRAM, of the platform (PMU power, RAPL)",
     "as its event's scale says", PERF_WRAPS, PERF_NEEDS, hm_pmusource_find_energy},
    {"perf-imc", TRAFFIC, "sockets", "bytes read and written by kind of memory (PMUs uncore_imc of Intel)", "64 bytes",
     PERF_WRAPS, PERF_NEEDS, hm_pmusource_find_imc},
    {"perf-amd", TRAFFIC, "sockets", "bytes read and written (PMUs amd_umc and amd_df)", "64 bytes", PERF_WRAPS,
     PERF_NEEDS, hm_pmusource_find_amd},
    {"cxl", TRAFFIC, "node", "bytes read from and written to CXL memory, whole lines (PMUs cxl_pmu_mem)", "64 bytes",
     PERF_WRAPS, PERF_NEEDS, hm_pmusource_find_cxl},
    {"resctrl", HM_GIVES(HM_TOTAL_BYTES) | HM_GIVES(HM_LOCAL_BYTES),
     "the tasks of a resctrl group; in the default group those that are in no other",
     "bytes between the last-level cache and memory, and those of the own socket (MBM)", "byte",
     "not in a lifetime: the kernel extends it to 64 bits", "a mount of resctrl that the user can read",
     hm_resctrl_find},
    {"papi", ENERGY | TRAFFIC, "sockets", "energy, and bytes by kind of memory (PAPI)", "by component", "by component",
     "by component", find_papi},
};

_Static_assert(sizeof(sources) / sizeof(sources[0]) <= HM_MOST_SOURCES, "HM_MOST_SOURCES is too small");

const struct hm_counter_source *hm_counter_source_at(int i)
{
    return i >= 0 && i < (int)(sizeof(sources) / sizeof(sources[0])) ? &sources[i] : NULL;
}

int hm_counters_find(const struct hm_counters_setup *setup, struct hm_gauges *gauges,
                     struct hm_counters_tried tried[HM_MOST_SOURCES])
{
    int n = 0;
    for (; hm_counter_source_at(n); n++) {
        struct hm_error reason = {""};
        tried[n] = (struct hm_counters_tried){.source = &sources[n], .first = gauges->n};
        if (sources[n].find(setup, gauges, n, &reason) != 0)
            hm_gauges_close(gauges, tried[n].first);
        tried[n].n = gauges->n - tried[n].first;
        snprintf(tried[n].reason, sizeof(tried[n].reason), "%s", reason.text);
    }
    return n;
}
