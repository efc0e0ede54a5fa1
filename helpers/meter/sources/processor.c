/* SPDX-License-Identifier: Apache-2.0 */
#include "processor.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>

#include "base/sysfile.h"

/* X86_VENDOR_INTEL, X86_VENDOR_AMD and X86_VENDOR_HYGON in arch/x86/include/asm/processor.h */
#define INTEL "cpu:type:x86,ven0000fam*"
#define AMD "cpu:type:x86,ven000@(2|9)fam*"

#define CPUS "devices/system/cpu"
#define NODES "devices/system/node"

bool hm_processor_matches(int sysfs, const char *pattern)
{
    char text[4096];
    return hm_sysfile_read(sysfs, CPUS "/modalias", text, sizeof(text)) == 0 &&
           fnmatch(pattern, text, FNM_EXTMATCH) == 0;
}

bool hm_processor_is_intel(int sysfs)
{
    return hm_processor_matches(sysfs, INTEL);
}

bool hm_processor_is_amd(int sysfs)
{
    return hm_processor_matches(sysfs, AMD);
}

int hm_processor_socket_of(int sysfs, int cpu)
{
    char path[96];
    uint64_t socket;
    snprintf(path, sizeof(path), CPUS "/cpu%d/topology/physical_package_id", cpu);
    return hm_sysfile_read_number(sysfs, path, &socket) == 0 && socket < HM_SET_BITS ? (int)socket : -1;
}

static int read_cpus(int sysfs, const char *path, struct hm_set *cpus)
{
    char text[4096];
    return hm_sysfile_read(sysfs, path, text, sizeof(text)) == 0 ? hm_set_parse(cpus, text, NULL) : -1;
}

/* Does the last-level cache of the node's first CPU serve CPUs that are not the node's? */
static bool is_cluster(int sysfs, const char *node)
{
    char path[128];
    struct hm_set cpus, sharing;
    snprintf(path, sizeof(path), NODES "/%.32s/cpulist", node);
    if (read_cpus(sysfs, path, &cpus) != 0) /* a node without CPUs has an empty list */
        return false;
    snprintf(path, sizeof(path), CPUS "/cpu%d/cache/index3/shared_cpu_list", hm_set_next(&cpus, 0));
    return read_cpus(sysfs, path, &sharing) == 0 && !hm_set_within(&sharing, &cpus);
}

bool hm_processor_has_clusters(int sysfs)
{
    char **names;
    bool has_clusters = false;
    int n = hm_sysfile_list(sysfs, NODES, "node[0-9]*", &names);
    for (int i = 0; i < n && !has_clusters; i++)
        has_clusters = is_cluster(sysfs, names[i]);
    if (n >= 0)
        hm_sysfile_free(names, n);
    return has_clusters;
}

int hm_processor_cpus_of(int sysfs, const char *pmu, struct hm_set *cpus, struct hm_error *error)
{
    char path[128], text[4096];
    struct hm_error why = {""};
    snprintf(path, sizeof(path), "bus/event_source/devices/%.64s/cpumask", pmu);
    if (hm_sysfile_read(sysfs, path, text, sizeof(text)) != 0)
        return hm_fail_errno(error, "%s", path);
    if (hm_set_parse(cpus, text, &why) != 0)
        return hm_fail(error, EINVAL, "%s: %s", path, why.text);
    return 0;
}
