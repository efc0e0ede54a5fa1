/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what a sample of the CPU's clock costs on this machine. */
#ifndef HM_MIGRATOR_SOURCES_CLOCKCOST_H
#define HM_MIGRATOR_SOURCES_CLOCKCOST_H

#include <linux/perf_event.h>

/*
 * Runs a loop with and without samples of `event`, some milliseconds each: an event like `attr` of this thread that is
 * not enabled, and is closed here. Returns the CPU time in seconds that a sample adds; negative: it cannot be told.
 */
double hm_clock_cost(const struct perf_event_attr *attr, int event);

#endif
