/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of hardware events that sample addresses of loads and stores, by processor. It has raw event numbers, as
 * they are few and stable: a library of event names would be one more dependency for two numbers per processor. Pure.
 */
#ifndef HM_MIGRATOR_PERF_TABLE_H
#define HM_MIGRATOR_PERF_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define HM_PERF_EVENTS 2 /* largest number of events per thread or CPU */

/* Which accesses an event samples. */
enum hm_perf_kind {
    HM_PERF_LOADS,
    HM_PERF_STORES,
    HM_PERF_BOTH,    /* PERF_SAMPLE_DATA_SRC tells which */
    HM_PERF_UNKNOWN, /* cannot be told */
};

struct hm_perf_event {
    const char *name;
    uint64_t config, config1;
    unsigned precise; /* perf_event_attr.precise_ip */
    enum hm_perf_kind kind;
};

struct hm_perf_processor {
    const char *name;
    const char *vendor; /* as in /proc/cpuinfo */
    unsigned family_low, family_high;
    uint8_t model[8];           /* ends with a 0; all 0: every model */
    const char *pmu;            /* folder in /sys/bus/event_source/devices; NULL: PERF_TYPE_RAW */
    uint64_t user_only_config2; /* bits in config2 that this PMU needs for exclude_kernel; 0: none */
    const char *terms;          /* bits of the event besides, as formats in the PMU's folder have them; NULL: none */
    bool has_packets;           /* the hardware writes SPE's packets into an AUX area, not samples (auxarea.h) */
    unsigned period_multiple;   /* a period must be a multiple of this, */
    uint64_t period_least;      /* not shorter than this, */
    uint64_t period_most;       /* and not longer than this; 0: any. Both are multiples themselves. */
    int n_events;
    struct hm_perf_event event[HM_PERF_EVENTS];
};

struct hm_perf_cpu {
    char vendor[16];
    unsigned family, model;
    bool is_virtual;
};

/* Reads the first processor of /proc/cpuinfo's text. Returns 0, or -1 if the text names no vendor. */
int hm_perf_parse_cpu(const char *cpuinfo, struct hm_perf_cpu *cpu);

/* Row n of the table; NULL past the last. */
const struct hm_perf_processor *hm_perf_processor_at(int n);
/* The row of a processor, or NULL. */
const struct hm_perf_processor *hm_perf_find_processor(const struct hm_perf_cpu *cpu);

#endif
