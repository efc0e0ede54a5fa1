/* SPDX-License-Identifier: Apache-2.0 */
#include "pmutable.h"

#include <string.h>

#define LINE 64 /* bytes that one count of a memory controller stands for */
/* Bytes of a burst: four beats of a pseudo-channel of HBM2e, which is 64 bits wide. Also a beat of Grace's fabric. */
#define BURST 32

/* Processors that can have Optane: Cascade Lake and Cooper Lake (model 0x55 with AVX512_VNNI, feature 0x20B, which
 * Skylake lacks), Ice Lake, Sapphire Rapids. */
#define OPTANE "cpu:type:x86,ven0000fam0006mod00@(55:feature:*,020B,*|6A:*|8F:*)"
#define SAPPHIRE_RAPIDS "cpu:type:x86,ven0000fam0006mod008F:*"
/* Processors whose memory channels have subchannels: Granite Rapids, Granite Rapids D, Sierra Forest, Grand Ridge,
 * Clearwater Forest. */
#define SUBCHANNELS "cpu:type:x86,ven0000fam0006mod00@(AD|AE|AF|B6|DD):*"
/* Server models with DDR5 (drivers/edac/amd64_edac.c). Other models may have LPDDR5, and MI300A has HBM. */
#define ZEN_4_5 "cpu:type:x86,ven0002fam00@(19mod00[1A]?|1Amod00[01]?):*"

static const struct hm_pmu_row energy_rows[] = {
    {.pmu = "power", .event = "energy-pkg", .quantity = HM_PACKAGE_ENERGY},
    {.pmu = "power", .event = "energy-ram", .quantity = HM_MEMORY_ENERGY},
    {.pmu = "power", .event = "energy-psys", .quantity = HM_PLATFORM_ENERGY},
};

/*
 * Where the codes come from: tools/perf/pmu-events/arch/x86 in Linux, uncore-memory.json of each processor.
 *
 * UNC_M_PMM_RPQ_INSERTS and _WPQ_INSERTS count 64 bytes, by Intel's metrics pmem_memory_bandwidth_read and _write.
 *
 * UNC_MCHBM_CAS_COUNT.RD and .WR are on the PMU that arch/x86/events/intel/uncore_snbep.c calls hbm. They count 32
 * bytes by Intel's PCM (getHBMCASTransferSize), in the controllers' interleaved mode, which PCM assumes for Xeon Max.
 *
 * UNC_M_CAS_COUNT_SCH0 and _SCH1 (rows *_sch0 and *_sch1) count one subchannel each. These rows come first, because
 * until 2026 cas_count_read and cas_count_write of uncore_snbep.c counted the first subchannel only.
 */
static const struct hm_pmu_row imc_rows[] = {
    {"uncore_imc_[0-9]*", "cas_count_read_sch0", "event=0x05,umask=0xcf", SUBCHANNELS, LINE, HM_READ_BYTES,
     HM_KIND_DRAM},
    {"uncore_imc_[0-9]*", "cas_count_read_sch1", "event=0x06,umask=0xcf", SUBCHANNELS, LINE, HM_READ_BYTES,
     HM_KIND_DRAM},
    {"uncore_imc_[0-9]*", "cas_count_write_sch0", "event=0x05,umask=0xf0", SUBCHANNELS, LINE, HM_WRITE_BYTES,
     HM_KIND_DRAM},
    {"uncore_imc_[0-9]*", "cas_count_write_sch1", "event=0x06,umask=0xf0", SUBCHANNELS, LINE, HM_WRITE_BYTES,
     HM_KIND_DRAM},
    {"uncore_imc*", "cas_count_read", NULL, NULL, LINE, HM_READ_BYTES, HM_KIND_DRAM},
    {"uncore_imc*", "cas_count_write", NULL, NULL, LINE, HM_WRITE_BYTES, HM_KIND_DRAM},
    {"uncore_imc_free_running*", "read", NULL, NULL, LINE, HM_READ_BYTES, HM_KIND_DRAM},
    {"uncore_imc_free_running*", "write", NULL, NULL, LINE, HM_WRITE_BYTES, HM_KIND_DRAM},
    {"uncore_imc_free_running*", "ddrt_read", NULL, NULL, LINE, HM_READ_BYTES, HM_KIND_PMEM},
    {"uncore_imc_free_running*", "ddrt_write", NULL, NULL, LINE, HM_WRITE_BYTES, HM_KIND_PMEM},
    {"uncore_imc_[0-9]*", "pmm_rpq_inserts", "event=0xe3", OPTANE, LINE, HM_READ_BYTES, HM_KIND_PMEM},
    {"uncore_imc_[0-9]*", "pmm_wpq_inserts", "event=0xe7", OPTANE, LINE, HM_WRITE_BYTES, HM_KIND_PMEM},
    {"uncore_hbm_[0-9]*", "cas_count_read", "event=0x05,umask=0xcf", SAPPHIRE_RAPIDS, BURST, HM_READ_BYTES,
     HM_KIND_HBM},
    {"uncore_hbm_[0-9]*", "cas_count_write", "event=0x05,umask=0xf0", SAPPHIRE_RAPIDS, BURST, HM_WRITE_BYTES,
     HM_KIND_HBM},
};

/* The codes are from memory-controller.json of amdzen4 and amdzen5, in tools/perf/pmu-events/arch/x86 in Linux. Each
 * counts 64 bytes, by the metrics umc_mem_read_bandwidth and umc_mem_write_bandwidth there. */
static const struct hm_pmu_row amd_rows[] = {
    {"amd_umc_[0-9]*", "umc_cas_cmd.rd", "event=0x0a,rdwrmask=0x1", ZEN_4_5, LINE, HM_READ_BYTES, HM_KIND_DRAM},
    {"amd_umc_[0-9]*", "umc_cas_cmd.wr", "event=0x0a,rdwrmask=0x2", ZEN_4_5, LINE, HM_WRITE_BYTES, HM_KIND_DRAM},
};

/*
 * The events' names are from drivers/perf/arm_cspmu/nvidia_cspmu.c. cmem is the CPU memory of the PMU's own socket;
 * rd_data counts beats of 32 bytes (as in LIKWID's groups for Grace). By Documentation/admin-guide/perf/nvidia-pmu.rst
 * in Linux, this PMU sees the traffic of all sockets' CPUs to that memory, and PCIe's ordered writes. The events
 * remote_socket_* are left out, as they count traffic between sockets a second time, at its other end. Traffic of GPUs,
 * and PCIe's reads and relaxed writes, are counted by other PMUs, whose events do not tell CPU memory from the GPU's.
 */
static const struct hm_pmu_row grace_rows[] = {
    {"nvidia_scf_pmu_[0-9]*", "cmem_rd_data", NULL, NULL, BURST, HM_READ_BYTES, HM_KIND_DRAM},
    {"nvidia_scf_pmu_[0-9]*", "cmem_wr_total_bytes", NULL, NULL, 1, HM_WRITE_BYTES, HM_KIND_DRAM},
};

/* Requests between host and device (CXL 3.0, tables 3-29 and 3-35). Partial writes are not counted, as nothing tells
 * how many bytes a partial write has. */
static const struct hm_pmu_row cxl_rows[] = {
    {"cxl_pmu_mem*", "m2s_req_memrd", NULL, NULL, LINE, HM_READ_BYTES, HM_KIND_CXL},
    {"cxl_pmu_mem*", "m2s_rwd_memwr", NULL, NULL, LINE, HM_WRITE_BYTES, HM_KIND_CXL},
};

#define ROWS(rows) .row = (rows), .n = sizeof(rows) / sizeof((rows)[0])

static const struct hm_pmu_rows tables[HM_PMU_N_TABLES] = {
    [HM_PMU_ENERGY] = {ROWS(energy_rows), .pmus = "power", .what = "power"},
    [HM_PMU_IMC] = {ROWS(imc_rows), .pmus = "uncore_[hi][bm][cm]*", .what = "uncore_imc"},
    [HM_PMU_AMD] = {ROWS(amd_rows), .pmus = "amd_umc_*", .what = "amd_umc"},
    [HM_PMU_GRACE] = {ROWS(grace_rows), .pmus = "nvidia_scf_pmu_*", .what = "nvidia_scf_pmu"},
    [HM_PMU_CXL] = {ROWS(cxl_rows), .pmus = "cxl_pmu_mem*", .what = "cxl_pmu_mem"},
};

const struct hm_pmu_rows *hm_pmu_rows(enum hm_pmu_table table)
{
    return &tables[table];
}

bool hm_pmu_rows_adds(const struct hm_pmu_rows *rows, size_t r)
{
    const struct hm_pmu_row *row = &rows->row[r], *before = r > 0 ? row - 1 : NULL;
    return before && row->terms && before->terms && row->quantity == before->quantity && row->kind == before->kind &&
           strcmp(row->processor, before->processor) == 0;
}
