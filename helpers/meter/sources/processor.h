/* SPDX-License-Identifier: Apache-2.0 */
/* What sysfs tells of the processor: its vendor, the sockets of its CPUs, and on which CPUs a PMU counts. `sysfs` is
 * the open folder /sys. */
#ifndef HM_METER_SOURCES_PROCESSOR_H
#define HM_METER_SOURCES_PROCESSOR_H

#include <stdbool.h>

#include "base/error.h"
#include "base/set.h"

/* Does the processor's name (devices/system/cpu/modalias) match this pattern of fnmatch(3), with FNM_EXTMATCH? */
bool hm_processor_matches(int sysfs, const char *pattern);

/* Is it a processor of Intel's? */
bool hm_processor_is_intel(int sysfs);

/* Is it a processor of AMD's, or of Hygon's, which are made like AMD's? */
bool hm_processor_is_amd(int sysfs);

/* The socket of a CPU, or -1. */
int hm_processor_socket_of(int sysfs, int cpu);

/* Find the CPUs on which to open a PMU's events: those in its cpumask, such as one for each socket, or each die.
 * Returns 0, or -1 with a text. */
int hm_processor_cpus_of(int sysfs, const char *pmu, struct hm_set *cpus, struct hm_error *error);

/* Does a last-level cache serve CPUs of several NUMA nodes, as with Intel's sub-NUMA clusters? Where sysfs does not
 * tell, this is false. */
bool hm_processor_has_clusters(int sysfs);

#endif
