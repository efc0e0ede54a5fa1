/* SPDX-License-Identifier: Apache-2.0 */
/* The one system call of perf events, and what its refusals mean to a person. */
#ifndef HM_BASE_PERFOPEN_H
#define HM_BASE_PERFOPEN_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/types.h>

/* perf_event_open(2), with close-on-exec and no group. `flags` are its other ones. Returns a descriptor, or -1. */
int hm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags);

/*
 * Why hm_perf_open() failed with this errno, and what would be right. `paranoid` is the text of
 * /proc/sys/kernel/perf_event_paranoid, "" where it is not known; `wanted` the highest value of it that would do. Pure.
 * Returns `out`.
 */
char *hm_perf_explain(int number, const char *paranoid, int wanted, char *out, size_t size);

/* The sysctl's text without its newline, "" where it cannot be read. Returns `out`. */
char *hm_perf_read_paranoid(char *out, size_t size);

/* The attr.type of a folder in /sys/bus/event_source/devices, or -1 where the kernel has none of this name. */
int hm_perf_find_type(const char *pmu);

#endif
