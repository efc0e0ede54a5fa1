/* SPDX-License-Identifier: Apache-2.0 */
/* The meter of a job's monitor, on the fake /sys of fakesysfs.h. */
#ifndef MONITORFIXTURE_H
#define MONITORFIXTURE_H

#include "meter/monitor/meter.h"

#define SECOND UINT64_C(1000000000)

extern struct hm_monitor_meter meter;
extern struct hm_samples samples; /* of a node with the tiers "dram" and "pmem" */
extern struct hm_metered *const metered;

/* Set-up and teardown of a test: an empty /sys, and no figures yet. */
int monitor_set_up(void **state);
int monitor_tear_down(void **state);

/* Open the meter. `group` is the folder of the job's resctrl group; NULL: it has none. */
void monitor_open(const char *group);
/* Let this time pass, then read all counters. */
void monitor_read_after(uint64_t ns);

#endif
