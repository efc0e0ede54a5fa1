/* SPDX-License-Identifier: Apache-2.0 */
#include "pmusource.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "../core/set.h"
#include "sysfile.h"

#define DEVICES "bus/event_source/devices"
#define LINE 64  /* bytes: what one count of a memory controller moves */
#define BURST 32 /* bytes: of a pseudo-channel of HBM2e, 64 bits wide, in four beats; a beat of Grace's fabric */

/*
 * An event that counts what we want. The rows of a source are tried in their order: where one has given counters of a
 * quantity and kind, later ones of the same are another view of the same traffic, but for one that follows at once with
 * another code of that processor: it counts the other half. Kernels give bytes a scale, too, but
 * some a wrong one (free-running counters before 6.4): the row's own figure holds.
 */
struct row {
    const char *pmu;   /* its name, a pattern */
    const char *event; /* in events/ of the PMU */
    const char *terms; /* where the kernel describes none: the vendor's code, for processors that match `processor` */
    const char *processor; /* pattern for devices/system/cpu/modalias, also with @(A|B) */
    double factor;         /* joules or bytes; 0: by the event's scale and unit */
    enum hm_quantity quantity;
    enum hm_kind kind;
};

/* Cascade Lake and Cooper Lake: model 0x55 with AVX512_VNNI (feature 0x20B), which Skylake lacks; Ice Lake; Sapphire
 * Rapids. Later ones take no Optane. */
#define OPTANE "cpu:type:x86,ven0000fam0006mod00@(55:feature:*,020B,*|6A:*|8F:*)"
#define SAPPHIRE_RAPIDS "cpu:type:x86,ven0000fam0006mod008F:*"
/* Granite Rapids and its D, Sierra Forest, Grand Ridge, Clearwater Forest. */
#define SUBCHANNELS "cpu:type:x86,ven0000fam0006mod00@(AD|AE|AF|B6|DD):*"
/* Models that are servers with DDR5 (drivers/edac/amd64_edac.c); of others some have LPDDR5, and MI300A has HBM. */
#define ZEN_4_5 "cpu:type:x86,ven0002fam00@(19mod00[1A]?|1Amod00[01]?):*"

static const struct row energy_rows[] = {
    {.pmu = "power", .event = "energy-pkg", .quantity = HM_PACKAGE_ENERGY},
    {.pmu = "power", .event = "energy-ram", .quantity = HM_MEMORY_ENERGY},
    {.pmu = "power", .event = "energy-psys", .quantity = HM_PLATFORM_ENERGY},
};

/*
 * Codes are those of Linux's tools/perf/pmu-events/arch/x86, uncore-memory.json by processor: UNC_M_PMM_RPQ_INSERTS and
 * _WPQ_INSERTS, of 64 bytes by Intel's metrics pmem_memory_bandwidth_read and _write; UNC_MCHBM_CAS_COUNT.RD and .WR,
 * of 32 bytes by Intel's PCM (getHBMCASTransferSize), on the PMU that arch/x86/events/intel/uncore_snbep.c names hbm;
 * UNC_M_CAS_COUNT_SCH0 and _SCH1, which that file has since 2026: before, its cas_count_read and cas_count_write were
 * of the first subchannel only, so that these rows come first.
 */
static const struct row imc_rows[] = {
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

/* memory-controller.json of amdzen4 and amdzen5 there, each of 64 bytes by their metrics umc_mem_read_bandwidth and
 * umc_mem_write_bandwidth. */
static const struct row amd_rows[] = {
    {"amd_umc_[0-9]*", "umc_cas_cmd.rd", "event=0x0a,rdwrmask=0x1", ZEN_4_5, LINE, HM_READ_BYTES, HM_KIND_DRAM},
    {"amd_umc_[0-9]*", "umc_cas_cmd.wr", "event=0x0a,rdwrmask=0x2", ZEN_4_5, LINE, HM_WRITE_BYTES, HM_KIND_DRAM},
};

/*
 * drivers/perf/arm_cspmu/nvidia_cspmu.c names them; cmem is the CPU memory of the PMU's own socket, and rd_data are
 * beats of 32 bytes (LIKWID's groups for Grace, and others). By Linux's Documentation/admin-guide/perf/nvidia-pmu.rst
 * this PMU sees the CPUs of all sockets on the way to that memory, and PCIe's ordered writes: no traffic is in two
 * sockets' counts as long as the events remote_socket_* are left out, which are the same at the other end. What GPUs
 * do, PCIe's reads and relaxed writes are other PMUs', whose events do not tell CPU memory from the GPU's.
 */
static const struct row grace_rows[] = {
    {"nvidia_scf_pmu_[0-9]*", "cmem_rd_data", NULL, NULL, BURST, HM_READ_BYTES, HM_KIND_DRAM},
    {"nvidia_scf_pmu_[0-9]*", "cmem_wr_total_bytes", NULL, NULL, 1, HM_WRITE_BYTES, HM_KIND_DRAM},
};

/* What host and device say to each other (CXL 3.0, tables 3-29 and 3-35). Partial writes are not counted: how many
 * bytes one has is not told. */
static const struct row cxl_rows[] = {
    {"cxl_pmu_mem*", "m2s_req_memrd", NULL, NULL, LINE, HM_READ_BYTES, HM_KIND_CXL},
    {"cxl_pmu_mem*", "m2s_rwd_memwr", NULL, NULL, LINE, HM_WRITE_BYTES, HM_KIND_CXL},
};

struct finding {
    const struct hm_counters_setup *setup;
    struct hm_gauges *gauges;
    size_t before; /* gauges of earlier sources */
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

static bool is_processor(const struct finding *finding, const char *pattern)
{
    char text[4096];
    return hm_sysfile_read(finding->setup->sysfs, "devices/system/cpu/modalias", text, sizeof(text)) == 0 &&
           fnmatch(pattern, text, FNM_EXTMATCH) == 0;
}

/* The event's terms. Returns 1, 0 where the PMU has no such event here, or -1. */
static int find_terms(const struct finding *finding, const struct row *row, const char *pmu, char *terms)
{
    char path[192];
    if (row->terms) {
        snprintf(terms, HM_PMU_TEXT, "%s", row->terms);
        return is_processor(finding, row->processor);
    }
    snprintf(path, sizeof(path), DEVICES "/%.64s/events/%s", pmu, row->event);
    if (hm_sysfile_read(finding->setup->sysfs, path, terms, HM_PMU_TEXT) == 0)
        return 1;
    return errno == ENOENT ? 0 : hm_fail_errno(finding->reason, "%s", path);
}

/* Joules for each count, by EVENT.scale and EVENT.unit. Returns 0, or -1. */
static int find_factor(const struct finding *finding, const struct row *row, const char *pmu, double *factor)
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
    return number <= UINT32_MAX ? 0 : hm_fail(finding->reason, EINVAL, "%s is above 2^32", path);
}

/* The CPUs on which to open its events: one of each socket. */
static int find_cpus(const struct finding *finding, const char *pmu, struct hm_set *cpus)
{
    char path[128], text[1024];
    struct hm_error why = {""};
    snprintf(path, sizeof(path), DEVICES "/%.64s/cpumask", pmu);
    if (hm_sysfile_read(finding->setup->sysfs, path, text, sizeof(text)) != 0)
        return hm_fail_errno(finding->reason, "%s", path);
    if (hm_set_parse(cpus, text, &why) != 0)
        return hm_fail(finding->reason, EINVAL, "%s: %s", path, why.text);
    return 0;
}

static int socket_of(const struct finding *finding, int cpu)
{
    char path[96];
    uint64_t socket;
    snprintf(path, sizeof(path), "devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    return hm_sysfile_read_number(finding->setup->sysfs, path, &socket) == 0 && socket <= INT16_MAX ? (int)socket : -1;
}

/* Open the row's event of one PMU on all of its CPUs. Returns 0, also where it has none, or -1. */
static int add_event(struct finding *finding, const struct row *row, const char *pmu)
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
        find_cpus(finding, pmu, &cpus) != 0)
        return -1;
    for (int cpu = hm_set_next(&cpus, 0); cpu >= 0; cpu = hm_set_next(&cpus, (unsigned)cpu + 1)) {
        gauge.socket = socket_of(finding, cpu);
        snprintf(gauge.name, sizeof(gauge.name), "%.64s/%s on CPU %d", pmu, row->event, cpu);
        if (hm_gauges_add_event(finding->gauges, &gauge, type, &config, cpu, finding->reason) != 0)
            return -1;
    }
    return 0;
}

static bool is_other_half(const struct row *row, const struct row *before)
{
    return row->terms && before->terms && row->quantity == before->quantity && row->kind == before->kind &&
           strcmp(row->processor, before->processor) == 0;
}

/* `before` is the row before it, or the first row itself. */
static int add_row(struct finding *finding, const struct row *row, const struct row *before)
{
    bool adds = row != before && is_other_half(row, before);
    for (size_t i = finding->before; i < finding->gauges->n && !adds; i++)
        if (finding->gauges->gauge[i].quantity == row->quantity && finding->gauges->gauge[i].kind == row->kind)
            return 0;
    for (int i = 0; i < finding->n_pmus; i++)
        if (fnmatch(row->pmu, finding->pmu[i], 0) == 0 && add_event(finding, row, finding->pmu[i]) != 0)
            return -1;
    return 0;
}

/* `pattern` is of the PMUs that a machine with this source has; `what` names them. */
static int find(struct finding *finding, const struct row *rows, size_t n_rows, const char *pattern, const char *what)
{
    int result = 0, there = 0;
    finding->before = finding->gauges->n;
    finding->n_pmus = hm_sysfile_list(finding->setup->sysfs, DEVICES, pattern, &finding->pmu);
    if (finding->n_pmus < 0 && errno != ENOENT)
        return hm_fail_errno(finding->reason, DEVICES);
    if (finding->n_pmus > 0) {
        there = finding->n_pmus;
        for (size_t i = 0; i < n_rows && result == 0; i++)
            result = add_row(finding, &rows[i], &rows[i > 0 ? i - 1 : 0]);
    }
    if (finding->n_pmus >= 0)
        hm_sysfile_free(finding->pmu, finding->n_pmus);
    if (result != 0 || finding->gauges->n > finding->before)
        return result;
    if (there > 0)
        return hm_fail(finding->reason, ENOENT,
                       "no event described: the kernel has %s, but names none of what it counts", what);
    return hm_fail(finding->reason, ENOENT, "the kernel has no PMU %s (a virtual machine, or another processor)", what);
}

#define FIND(rows, pattern, what)                                                                                      \
    find(&(struct finding){.setup = setup, .gauges = gauges, .source = source, .reason = reason}, rows,                \
         sizeof(rows) / sizeof((rows)[0]), pattern, what)

int hm_pmusource_find_energy(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source,
                             struct hm_error *reason)
{
    return FIND(energy_rows, "power", "power");
}

int hm_pmusource_find_imc(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source,
                          struct hm_error *reason)
{
    return FIND(imc_rows, "uncore_[hi][bm][cm]*", "uncore_imc");
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
 * The data fabric is no source: its events dram_channel_data_controller_0 to _7 (data-fabric.json of amdzen1 to
 * amdzen3) are of a channel's requests both ways, and it has NUM_COUNTERS_NB counters, four
 * (arch/x86/events/amd/uncore.c). All eight at once would be an extrapolation.
 */
int hm_pmusource_find_amd(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source,
                          struct hm_error *reason)
{
    if (has_pmu(setup, "amd_df") && !has_pmu(setup, "amd_umc_*"))
        return hm_fail(reason, ENOENT,
                       "the kernel has no PMU amd_umc, as Zen 4 and later have; amd_df has four counters for eight "
                       "channels up to Zen 3, and does not tell reads from writes");
    return FIND(amd_rows, "amd_umc_*", "amd_umc");
}

int hm_pmusource_find_cxl(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source,
                          struct hm_error *reason)
{
    return FIND(cxl_rows, "cxl_pmu_mem*", "cxl_pmu_mem");
}

int hm_pmusource_find_grace(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source,
                            struct hm_error *reason)
{
    return FIND(grace_rows, "nvidia_scf_pmu_*", "nvidia_scf_pmu");
}
