/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <fnmatch.h>
#include <stdint.h>
#include <string.h>

#include "base/size.h"

#define N_ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))
#define UNCORE "perf_event_uncore"
#define NONE HM_KIND_UNKNOWN

/* The names of the events of perf_event_uncore are libpfm4's. libpfm4 has no PMM events for Skylake and Cascade Lake,
 * and no memory controllers of AMD. */
static const struct hm_papi_row rows[] = {
    {UNCORE, "rapl::RAPL_ENERGY_PKG", "", "power", false, HM_PAPI_PACKAGE_ENERGY, NONE, HM_PAPI_RAPL_UNIT},
    {UNCORE, "rapl::RAPL_ENERGY_DRAM", "", "power", false, HM_PAPI_MEMORY_ENERGY, NONE, HM_PAPI_RAPL_UNIT},
    {UNCORE, "rapl::RAPL_ENERGY_PSYS", "", "power", false, HM_PAPI_PLATFORM_ENERGY, NONE, HM_PAPI_RAPL_UNIT},
    {UNCORE, "amd64_rapl::RAPL_ENERGY_PKG", "", "power", false, HM_PAPI_PACKAGE_ENERGY, NONE, HM_PAPI_RAPL_UNIT},
    {"powercap", "powercap:::ENERGY_UJ:ZONE*", "", NULL, true, HM_PAPI_PACKAGE_ENERGY, NONE, HM_PAPI_MICROJOULE},
    {"rapl", "rapl:::PACKAGE_ENERGY:PACKAGE*", "", NULL, false, HM_PAPI_PACKAGE_ENERGY, NONE, HM_PAPI_NANOJOULE},
    {"rapl", "rapl:::DRAM_ENERGY:PACKAGE*", "", NULL, false, HM_PAPI_MEMORY_ENERGY, NONE, HM_PAPI_NANOJOULE},
    {UNCORE, "*_unc_imc[0-9]*::UNC_M_CAS_COUNT", ":RD", "uncore_imc*", false, HM_PAPI_READ_BYTES, HM_KIND_DRAM,
     HM_PAPI_LINE},
    {UNCORE, "*_unc_imc[0-9]*::UNC_M_CAS_COUNT", ":WR", "uncore_imc*", false, HM_PAPI_WRITE_BYTES, HM_KIND_DRAM,
     HM_PAPI_LINE},
    {UNCORE, "*_unc_imc[0-9]*::UNC_M_PMM_RPQ_INSERTS", "", "uncore_imc*", false, HM_PAPI_READ_BYTES, HM_KIND_PMEM,
     HM_PAPI_LINE},
    {UNCORE, "*_unc_imc[0-9]*::UNC_M_PMM_WPQ_INSERTS", "", "uncore_imc*", false, HM_PAPI_WRITE_BYTES, HM_KIND_PMEM,
     HM_PAPI_LINE},
};

static const char *const measures[HM_PAPI_N_MEASURES] = {
    [HM_PAPI_PACKAGE_ENERGY] = "package-energy",   [HM_PAPI_MEMORY_ENERGY] = "memory-energy",
    [HM_PAPI_PLATFORM_ENERGY] = "platform-energy", [HM_PAPI_READ_BYTES] = "read-bytes",
    [HM_PAPI_WRITE_BYTES] = "write-bytes",         [HM_PAPI_COUNT] = "count",
};

static const struct {
    const char *name;
    double factor;
} units[HM_PAPI_N_UNITS] = {
    [HM_PAPI_RAPL_UNIT] = {"2^-32J", 1.0 / 4294967296.0},
    [HM_PAPI_MICROJOULE] = {"uJ", 1e-6},
    [HM_PAPI_NANOJOULE] = {"nJ", 1e-9},
    [HM_PAPI_JOULE] = {"J", 1},
    [HM_PAPI_LINE] = {"64B", 64},
    [HM_PAPI_ONE] = {"1", 1},
};

const struct hm_papi_row *hm_papi_row_at(int i)
{
    return i >= 0 && i < N_ROWS(rows) ? &rows[i] : NULL;
}

const struct hm_papi_row *hm_papi_row_find(int *i, const char *component, const char *event)
{
    for (const struct hm_papi_row *row; (row = hm_papi_row_at(*i)); ++*i)
        if (strcmp(row->component, component) == 0 && fnmatch(row->pattern, event, 0) == 0)
            return row;
    return NULL;
}

int hm_papi_number_in(const char *event, const char *key)
{
    const char *at = strstr(event, key);
    uint64_t number;
    char digits[8];
    if (!at)
        return -1;
    at += strlen(key);
    size_t length = strspn(at, "0123456789");
    if (length == 0 || length >= sizeof(digits) || (at[length] && !strchr("_:-\n", at[length])))
        return -1;
    memcpy(digits, at, length);
    digits[length] = '\0';
    return hm_size_parse_number(digits, 0, HM_SET_BITS, &number, NULL) == 0 ? (int)number : -1;
}

int hm_papi_zone(const char *name, bool is_in_package, enum hm_papi_measure *measure, int *socket)
{
    size_t length = strcspn(name, "\n");
    *socket = -1;
    if (is_in_package) {
        *measure = HM_PAPI_MEMORY_ENERGY;
        return length == 4 && strncmp(name, "dram", length) == 0 ? 0 : -1;
    }
    if (strncmp(name, "package-", strlen("package-")) == 0) {
        /* "package-1", or "package-1-die-0" */
        *measure = HM_PAPI_PACKAGE_ENERGY;
        *socket = hm_papi_number_in(name, "package-");
        return *socket >= 0 ? 0 : -1;
    }
    *measure = HM_PAPI_PLATFORM_ENERGY;
    if (length == 4 && strncmp(name, "psys", length) == 0)
        return 0;
    /* "psys-1": the kernel shows the platform at one processor, which need not be the first */
    return strncmp(name, "psys-", strlen("psys-")) == 0 && hm_papi_number_in(name, "psys-") >= 0 ? 0 : -1;
}

const char *hm_papi_measure_name(enum hm_papi_measure measure)
{
    return measures[measure];
}

int hm_papi_measure_parse(const char *word, enum hm_papi_measure *measure)
{
    for (int i = 0; i < HM_PAPI_N_MEASURES; i++) {
        if (strcmp(word, measures[i]) == 0) {
            *measure = (enum hm_papi_measure)i;
            return 0;
        }
    }
    return -1;
}

const char *hm_papi_unit_name(enum hm_papi_unit unit)
{
    return units[unit].name;
}

int hm_papi_unit_parse(const char *word, enum hm_papi_unit *unit)
{
    for (int i = 0; i < HM_PAPI_N_UNITS; i++) {
        if (strcmp(word, units[i].name) == 0) {
            *unit = (enum hm_papi_unit)i;
            return 0;
        }
    }
    return -1;
}

double hm_papi_unit_factor(enum hm_papi_unit unit)
{
    return units[unit].factor;
}
