/* SPDX-License-Identifier: Apache-2.0 */
/* The source powercap: RAPL's energy counters through the kernel's powercap files. class/powercap/intel-rapl:N are
 * packages and the platform; intel-rapl:N:M in them are parts of a package. AMD's packages have the same names. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/sysfile.h"
#include "sources.h"

#define ZONES "class/powercap"

struct finding {
    const struct hm_counters_setup *setup;
    struct hm_gauges *gauges;
    struct hm_gauge like;
    struct hm_error *reason;
};

/* Is this the name of a zone with this many numbers, "intel-rapl:0" or "intel-rapl:0:1", and nothing after them? */
static bool is_zone(const char *name, int numbers)
{
    const char *rest = strchr(name, ':');
    for (; rest && numbers > 0; numbers--) {
        size_t digits = strspn(rest + 1, "0123456789");
        if (*rest != ':' || digits == 0)
            return false;
        rest += 1 + digits;
    }
    return rest && !*rest;
}

/* Add the zone at `path`, which measures `measure`. Returns 0, or -1. */
static int add_zone(struct finding *finding, const char *path, enum hm_papi_measure measure)
{
    struct hm_gauge *like = &finding->like;
    char file[192];
    uint64_t range;
    like->quantity = hm_counter_quantity(measure);
    if (hm_counter_is_twin(finding->setup, finding->gauges, like))
        return 0;
    snprintf(file, sizeof(file), "%s/max_energy_range_uj", path);
    if (hm_sysfile_read_number(finding->setup->sysfs, file, &range) != 0)
        return hm_fail_errno(finding->reason, "%s", file);
    snprintf(like->name, sizeof(like->name), "%s/energy_uj", path);
    like->counter =
        (struct hm_counter){.modulus = range + 1, .most_per_s = hm_quantity_most_per_s(like->quantity) / like->factor};
    return hm_gauges_add_file(finding->gauges, like, finding->setup->sysfs, finding->reason);
}

static int add_parts(struct finding *finding, const char *zone)
{
    char path[80], part[128], file[144], name[32], **names;
    enum hm_papi_measure measure;
    int n, socket, result = 0;
    snprintf(path, sizeof(path), ZONES "/%s", zone);
    n = hm_sysfile_list(finding->setup->sysfs, path, "intel-rapl:*", &names);
    if (n < 0)
        return hm_fail_errno(finding->reason, "%s", path);
    for (int i = 0; i < n && result == 0; i++) {
        if (!is_zone(names[i], 2) || strlen(names[i]) > 32)
            continue;
        snprintf(part, sizeof(part), "%s/%s", path, names[i]);
        snprintf(file, sizeof(file), "%s/name", part);
        if (hm_sysfile_read(finding->setup->sysfs, file, name, sizeof(name)) != 0)
            result = hm_fail_errno(finding->reason, "%s", file);
        else if (hm_papi_zone(name, true, &measure, &socket) == 0)
            result = add_zone(finding, part, measure);
    }
    hm_sysfile_free(names, n);
    return result;
}

static int add_package(struct finding *finding, const char *zone)
{
    char path[80], file[96], name[32];
    enum hm_papi_measure measure;
    snprintf(path, sizeof(path), ZONES "/%s", zone);
    snprintf(file, sizeof(file), "%s/name", path);
    if (hm_sysfile_read(finding->setup->sysfs, file, name, sizeof(name)) != 0)
        return hm_fail_errno(finding->reason, "%s", file);
    if (hm_papi_zone(name, false, &measure, &finding->like.socket) != 0)
        return 0;
    return add_zone(finding, path, measure) == 0 ? add_parts(finding, zone) : -1;
}

static int find(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source, struct hm_error *reason)
{
    struct finding finding = {
        .setup = setup, .gauges = gauges, .like = {.source = source, .factor = 1e-6}, .reason = reason};
    size_t before = gauges->n;
    char **names;
    int result = 0, n = hm_sysfile_list(setup->sysfs, ZONES, "intel-rapl:*", &names);
    if (n < 0 && errno != ENOENT)
        return hm_fail_errno(reason, ZONES);
    for (int i = 0; i < n && result == 0; i++)
        if (is_zone(names[i], 1) && strlen(names[i]) <= 32)
            result = add_package(&finding, names[i]);
    if (n >= 0)
        hm_sysfile_free(names, n);
    if (result == 0 && gauges->n == before)
        return hm_fail(reason, ENOENT,
                       "the kernel shows no RAPL zone in " ZONES " (a virtual machine, or intel_rapl is not loaded)");
    return result;
}

const struct hm_counter_source hm_meter_powercap = {
    .name = "powercap",
    .gives = HM_GIVES_ENERGY,
    .covers = HM_COVERS_SOCKETS,
    .measures = "energy of the package and of DRAM, of the platform where there is psys (RAPL)",
    .unit = "microjoule",
    .wraps = "at max_energy_range_uj, after minutes",
    .needs = "root (since Linux 5.10 only root can read energy_uj)",
    .find = find,
};
