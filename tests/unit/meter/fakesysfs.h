/* SPDX-License-Identifier: Apache-2.0 */
/* A fake /sys in the scratch folder, and fake perf events, whose values come from a list. hm_perf_open is defined here,
 * and the linker's --wrap replaces ioctl, which enables events. */
#ifndef FAKESYSFS_H
#define FAKESYSFS_H

#include <linux/perf_event.h>
#include <stdint.h>

#include "meter/sources/flow.h"

struct fake_sysfs {
    int perf_fails; /* errno of perf_event_open; 0: it works */
    int n_opened;   /* perf events opened */
    struct perf_event_attr attr[16];
    int cpu[16];
    /* values of each event, one for each reading; after the last one, another user of perf has its hardware counter */
    uint64_t counts[4];
    int n_counts;
    bool is_given_back; /* the event counts again after it is enabled: its next value is 7 */

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

/* Set-up and teardown of a test: an empty /sys without resctrl. */
int fake_sysfs_make(void **state);
int fake_sysfs_drop(void **state);

/* Write a line into a file of the fake /sys; folders are made. */
void fake_sysfs_write(const char *path, const char *line);
void fake_sysfs_remove(const char *path);
/* Add an event to a PMU of this type, with the CPUs 0 and 1, which are on the sockets 0 and 1. */
void fake_sysfs_add_event(const char *pmu, const char *type, const char *event, const char *terms);
/* Add two of Intel's memory controllers. Each of their events counts 1000 between the first and the second reading. */
void fake_sysfs_add_memory_controllers(void);
/* Files of powercap's counters: those of the package n, and of a zone in it. */
#define PACKAGE(n) "class/powercap/intel-rapl:" #n "/energy_uj"
#define ZONE(n, zone) "class/powercap/intel-rapl:" #n "/intel-rapl:" #n ":" #zone "/energy_uj"
/* Add two packages with DRAM, the first also with cores, and the platform. All counters are at `start`. */
void fake_sysfs_add_powercap(const char *start);

/* Find all sources, and read all counters for the first time. */
void fake_sysfs_find(void);
/* Let a second pass, read all counters again, and sum up the flows of that second. */
void fake_sysfs_step(void);

/* The result for the source with this name. */
const struct hm_counters_tried *fake_sysfs_source(const char *name);
/* Check that the flow with this name has this amount, from this source. */
void fake_sysfs_expect(const char *name, const char *source, double amount);
/* Check that the flow with this name is unknown. `reason` is a part of why. */
void fake_sysfs_expect_unknown(const char *name, const char *reason);

#endif
