/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up /sys in the scratch folder, with perf events that count by a list (--wrap of hm_perf_open, and of ioctl,
 * which turns them on), and files that may not be opened any more (--wrap of hm_sysfile_open).
 */
#ifndef FAKESYSFS_H
#define FAKESYSFS_H

#include <linux/perf_event.h>
#include <stdint.h>

#include "meter/sources/flow.h"

struct fake_sysfs {
    int open_fails; /* errno of opening a counter's file; 0: it works */
    int perf_fails; /* errno of perf_event_open */
    int n_opened;   /* perf events */
    struct perf_event_attr attr[16];
    int cpu[16];
    uint64_t counts[4]; /* what each event reads as, one after the other; then another has its counter */
    int n_counts;
    bool is_given_back; /* turned on again it counts: it reads as 7 once more */

    struct hm_counters_setup setup;
    struct hm_gauges gauges;
    struct hm_counters_tried tried[HM_METERS];
    int n_tried;
    const struct hm_tiers *tiers;
    struct hm_flow flow[HM_MOST_FLOWS];
    int n_flows;
    uint64_t now_ns;
};

extern struct fake_sysfs fake;

/* Of a test: an empty /sys and no resctrl; and the end of it. */
int fake_sysfs_make(void **state);
int fake_sysfs_drop(void **state);

/* Write a line to a file of it, folders included. */
void fake_sysfs_write(const char *path, const char *line);
void fake_sysfs_remove(const char *path);
/* A PMU of the type with the CPUs 0 and 1, of sockets 0 and 1, and an event. */
void fake_sysfs_add_event(const char *pmu, const char *type, const char *event, const char *terms);
/* Two of Intel's, each of whose events counts 1000 once. */
void fake_sysfs_add_memory_controllers(void);
/* Two packages with DRAM, the first also with cores, and the platform; all counters at `start`. */
void fake_sysfs_add_powercap(const char *start);

/* Find all sources, and read for the first time. */
void fake_sysfs_find(void);
/* A second later: read again, and sum the flows of that second. */
void fake_sysfs_step(void);

/* The source of this name, as it was tried. */
const struct hm_counters_tried *fake_sysfs_source(const char *name);
/* The flow of this name has that amount, of that source; with `source` NULL: it is not known, for a reason with
 * `reason` in it. */
void fake_sysfs_expect(const char *name, const char *source, double amount);
void fake_sysfs_expect_unknown(const char *name, const char *reason);

#endif
