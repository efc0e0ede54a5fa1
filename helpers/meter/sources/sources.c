/* SPDX-License-Identifier: Apache-2.0 */
#include "sources.h"

#include <stdio.h>

#include "pmu.h"

/* perf events of the uncore and of energy count whatever runs: the kernel shows them to who may see all of it. */
#define PERF_NEEDS "root, CAP_PERFMON, or kernel.perf_event_paranoid of 0 or less"
#define ENERGY (HM_GIVES(HM_PACKAGE_ENERGY) | HM_GIVES(HM_MEMORY_ENERGY) | HM_GIVES(HM_PLATFORM_ENERGY))
#define TRAFFIC (HM_GIVES(HM_READ_BYTES) | HM_GIVES(HM_WRITE_BYTES))
#define SOCKETS "each socket, whatever runs on it"
#define NO_WRAP "not in a lifetime: the kernel extends it to 64 bits"

static const struct hm_counter_source sources[] = {
    {.name = "powercap",
     .gives = ENERGY,
     .covers = SOCKETS,
     .measures = "energy of the package and of DRAM, of the platform where there is psys (RAPL)",
     .unit = "microjoule",
     .wraps = "at max_energy_range_uj, after minutes",
     .needs = "root (energy_uj is readable by root only since Linux 5.10)",
     .find = hm_powercap_find},
    {.name = "perf-energy",
     .gives = ENERGY,
     .covers = SOCKETS,
     .measures = "energy of the package and of DRAM, of the platform (PMU power, RAPL)",
     .unit = "what its event's scale says",
     .wraps = NO_WRAP,
     .needs = PERF_NEEDS,
     .find = hm_pmusource_find_energy},
    {.name = "perf-imc",
     .gives = TRAFFIC,
     .covers = SOCKETS,
     .measures = "bytes read and written by kind of memory (PMUs uncore_imc and uncore_hbm of Intel)",
     .unit = "64 bytes, of HBM 32",
     .wraps = NO_WRAP,
     .needs = PERF_NEEDS,
     .find = hm_pmusource_find_imc},
    {.name = "perf-amd",
     .gives = TRAFFIC,
     .covers = SOCKETS,
     .measures = "bytes read and written (PMUs amd_umc of AMD's servers, Zen 4 and 5)",
     .unit = "64 bytes",
     .wraps = NO_WRAP,
     .needs = PERF_NEEDS,
     .find = hm_pmusource_find_amd},
    {.name = "grace-cpus",
     .gives = TRAFFIC,
     .covers = "each socket's own memory, by the CPUs of all sockets; not by GPUs and PCIe devices",
     .measures = "bytes that CPUs read from and write to DRAM (PMUs nvidia_scf_pmu of Grace)",
     .unit = "32 bytes read, 1 byte written",
     .wraps = NO_WRAP,
     .needs = PERF_NEEDS,
     .find = hm_pmusource_find_grace},
    {.name = "cxl",
     .gives = TRAFFIC,
     .covers = "the node, whatever runs on it",
     .measures = "bytes read from and written to CXL memory, whole lines (PMUs cxl_pmu_mem)",
     .unit = "64 bytes",
     .wraps = NO_WRAP,
     .needs = PERF_NEEDS,
     .find = hm_pmusource_find_cxl},
    {.name = "resctrl",
     .gives = HM_GIVES(HM_TOTAL_BYTES) | HM_GIVES(HM_LOCAL_BYTES),
     .covers =
         "the tasks of a resctrl group; of a control group, as the default one, those of its monitoring groups, too",
     .measures = "bytes between the last-level cache and memory, and those of the own socket (MBM)",
     .unit = "bytes",
     .wraps = NO_WRAP,
     .needs = "a mount of resctrl that the user can read",
     .find = hm_resctrl_find},
    {.name = "papi",
     .gives = ENERGY | TRAFFIC,
     .covers = SOCKETS,
     .measures = "energy, and bytes by kind of memory of Intel's memory controllers (PAPI, by hybridmem-papi)",
     .unit = "2^-32 J, microjoule, nanojoule or 64 bytes, by PAPI's component",
     .wraps = "PAPI's component powercap at max_energy_range_uj, the others not in a lifetime",
     .needs = "what PAPI's components need: root, or CAP_PERFMON for perf_event_uncore",
     .find = hm_papi_find},
    {.name = "slurm",
     .gives = HM_GIVES(HM_PLATFORM_ENERGY),
     .covers = "the node, whatever runs on it",
     .measures = "energy of the node, as slurmd has it (Slurm's acct_gather_energy of ipmi, xcc or pm_counters)",
     .unit = "joule",
     .wraps = "not in a lifetime; of ipmi and xcc it begins anew with slurmd",
     .needs = "root or SlurmUser, and slurmd on this node",
     .find = hm_slurm_find},
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
        if (sources[n].find(setup, gauges, n, &reason) != 0 && gauges->n > tried[n].first)
            hm_gauges_close(gauges, tried[n].first);
        tried[n].n = gauges->n - tried[n].first;
        snprintf(tried[n].reason, sizeof(tried[n].reason), "%s", reason.text);
    }
    return n;
}
