/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu.h"

#include "base/files.h"

int hm_perf_read_cpu(struct hm_perf_cpu *cpu)
{
    char text[16384]; /* long enough for the first processor */
    if (hm_file_read_start("/proc/cpuinfo", text, sizeof(text)) != 0)
        return -1;
    return hm_perf_parse_cpu(text, cpu);
}
