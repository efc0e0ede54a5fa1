/* SPDX-License-Identifier: Apache-2.0 */
/* Which processor this machine has. */
#ifndef HM_MIGRATOR_PERF_CPU_H
#define HM_MIGRATOR_PERF_CPU_H

#include "table.h"

/* Reads the first processor of /proc/cpuinfo. Returns 0, or -1 where it cannot be read or names no vendor. */
int hm_perf_read_cpu(struct hm_perf_cpu *cpu);

#endif
