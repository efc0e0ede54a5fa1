/* SPDX-License-Identifier: Apache-2.0 */
#include "cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/sysfile.h"

#define DEVICES "/sys/bus/event_source/devices"

int hm_papi_cpus(const char *pmu, struct hm_set *cpus, struct hm_error *error)
{
    char path[512], list[4096], **names;
    int n = hm_sysfile_list(AT_FDCWD, DEVICES, pmu, &names), result = -1;
    if (n < 0)
        return hm_fail_errno(error, DEVICES);
    hm_set_clear(cpus);
    if (n == 0)
        hm_fail(error, ENOENT, "the kernel has no PMU %s", pmu);
    else if (snprintf(path, sizeof(path), DEVICES "/%s/cpumask", names[0]) >= (int)sizeof(path) ||
             hm_sysfile_read(AT_FDCWD, path, list, sizeof(list)) != 0)
        hm_fail_errno(error, "%s", path);
    else if (hm_set_parse(cpus, list, NULL) != 0 || hm_set_is_empty(cpus))
        hm_fail(error, EBADMSG, "%s: \"%.64s\" is no list of CPUs", path, list);
    else
        result = 0;
    hm_sysfile_free(names, n);
    return result;
}

int hm_papi_socket_of(int cpu)
{
    char path[128];
    uint64_t socket;
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    return hm_sysfile_read_number(AT_FDCWD, path, &socket) == 0 && socket < HM_SET_BITS ? (int)socket : -1;
}
