/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hardware events sample the addresses of loads and stores, by processor. Raw numbers, since they are few and
 * stable: a library of event names would be one more dependency for two numbers per processor. Pure.
 */
#ifndef HM_MIGRATOR_PERF_TABLE_H
#define HM_MIGRATOR_PERF_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define HM_PERF_EVENTS 2 /* at most, per thread or CPU */

enum hm_perf_kind { /* of the accesses that an event samples */
                    HM_PERF_LOADS,
                    HM_PERF_STORES,
                    HM_PERF_BOTH,    /* PERF_SAMPLE_DATA_SRC tells which */
                    HM_PERF_UNKNOWN, /* not told */
};

struct hm_perf_event {
    const char *name;
    uint64_t config, config1;
    unsigned precise; /* perf_event_attr.precise_ip */
    enum hm_perf_kind kind;
};

struct hm_perf_processor {
    const char *name;
    const char *vendor; /* as /proc/cpuinfo names it */
    unsigned family_low, family_high;
    uint8_t model[8];           /* ends at a 0; all 0: every model */
    const char *pmu;            /* folder in /sys/bus/event_source/devices; NULL: PERF_TYPE_RAW */
    uint64_t user_only_config2; /* bits without which the kernel refuses exclude_kernel for this PMU; 0: none needed */
    unsigned period_multiple;
    const char *refused; /* NULL, or why this version does not sample on it */
    int n_events;
    struct hm_perf_event event[HM_PERF_EVENTS];
};

struct hm_perf_cpu {
    char vendor[16];
    unsigned family, model;
    bool is_virtual;
};

/* Of the first processor in the text of /proc/cpuinfo. Returns 0, or -1 where it names none. */
int hm_perf_parse_cpu(const char *cpuinfo, struct hm_perf_cpu *cpu);

/* The rows; NULL past the last. */
const struct hm_perf_processor *hm_perf_processor_at(int n);
/* The row of a processor, or NULL. */
const struct hm_perf_processor *hm_perf_find_processor(const struct hm_perf_cpu *cpu);

#endif
