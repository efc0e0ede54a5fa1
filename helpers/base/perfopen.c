/* SPDX-License-Identifier: Apache-2.0 */
#include "perfopen.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "files.h"

#define DEVICES "/sys/bus/event_source/devices"

int hm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags)
{
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, flags | PERF_FLAG_FD_CLOEXEC);
}

int hm_perf_read_attribute(const char *pmu, const char *name, char *out, size_t size)
{
    char path[256];
    int length = snprintf(path, sizeof(path), DEVICES "/%s/%s", pmu, name);
    return length < (int)sizeof(path) ? hm_file_read_line(path, out, size) : -1;
}

int hm_perf_find_type(const char *pmu)
{
    char text[16];
    int type;
    if (hm_perf_read_attribute(pmu, "type", text, sizeof(text)) != 0)
        return -1;
    return sscanf(text, "%d", &type) == 1 && type >= 0 ? type : -1;
}
