/* SPDX-License-Identifier: Apache-2.0 */
#include "processor.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>

#include "base/sysfile.h"

/* X86_VENDOR_AMD and X86_VENDOR_HYGON in arch/x86/include/asm/processor.h */
#define AMD "cpu:type:x86,ven000@(2|9)fam*"

bool hm_processor_matches(int sysfs, const char *pattern)
{
    char text[4096];
    return hm_sysfile_read(sysfs, "devices/system/cpu/modalias", text, sizeof(text)) == 0 &&
           fnmatch(pattern, text, FNM_EXTMATCH) == 0;
}

bool hm_processor_is_amd(int sysfs)
{
    return hm_processor_matches(sysfs, AMD);
}

int hm_processor_socket_of(int sysfs, int cpu)
{
    char path[96];
    uint64_t socket;
    snprintf(path, sizeof(path), "devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    return hm_sysfile_read_number(sysfs, path, &socket) == 0 && socket < HM_SET_BITS ? (int)socket : -1;
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
