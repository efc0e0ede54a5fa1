/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the CPUs on which a socket's counters are opened. */
#ifndef HM_PAPI_CPUS_H
#define HM_PAPI_CPUS_H

#include "base/set.h"

/* Find one CPU for each socket, or each die of a socket, that a PMU of the kernel counts: those of the PMU's cpumask
 * below `sysfs` (the open folder /sys). `pmu` is a pattern of fnmatch(3); all PMUs with such a name have one cpumask.
 * Returns 0, or -1 with a text. */
int hm_papi_cpus(int sysfs, const char *pmu, struct hm_set *cpus, struct hm_error *error);

#endif
