/* SPDX-License-Identifier: Apache-2.0 */
#include "cpus.h"

#include <errno.h>

#include "base/sysfile.h"
#include "meter/sources/processor.h"

#define DEVICES "bus/event_source/devices"

int hm_papi_cpus(int sysfs, const char *pmu, struct hm_set *cpus, struct hm_error *error)
{
    char **names;
    int n = hm_sysfile_list(sysfs, DEVICES, pmu, &names);
    if (n < 0)
        return hm_fail_errno(error, DEVICES);
    int result = n > 0 ? hm_processor_cpus_of(sysfs, names[0], cpus, error)
                       : hm_fail(error, ENOENT, "the kernel has no PMU %s", pmu);
    hm_sysfile_free(names, n);
    return result == 0 && hm_set_is_empty(cpus) ? hm_fail(error, EBADMSG, "PMU %s counts on no CPU", pmu) : result;
}
