/* SPDX-License-Identifier: Apache-2.0 */
/* Opens perf events, and explains to people why the kernel refused. */
#ifndef HM_BASE_PERFOPEN_H
#define HM_BASE_PERFOPEN_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/types.h>

#define HM_PERF_PARANOID_MOST 2 /* highest kernel.perf_event_paranoid with which users may sample their threads */

/* Call perf_event_open(2) with close-on-exec and without a group; `flags` adds other flags. Returns a descriptor, or -1
 * with errno. */
int hm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags);

/*
 * Explain why hm_perf_open() failed with this errno, and what would be right. `paranoid` is the text of
 * /proc/sys/kernel/perf_event_paranoid, or "" where it is not known; `wanted` is the highest level that would do. Pure.
 * Returns `out`.
 */
char *hm_perf_explain(int number, const char *paranoid, int wanted, char *out, size_t size);

/* Read kernel.perf_event_paranoid as text without its newline; "" where it cannot be read. Returns `out`. */
char *hm_perf_read_paranoid(char *out, size_t size);

/* Read the file `name` in a PMU's folder there, such as "format/event", as text without its newline. Returns 0, or -1
 * where there is no such file. */
int hm_perf_read_attribute(const char *pmu, const char *name, char *out, size_t size);

/* The attr.type of a PMU, by its name in /sys/bus/event_source/devices. Returns -1 where the kernel has none of this
 * name. */
int hm_perf_find_type(const char *pmu);

#endif
