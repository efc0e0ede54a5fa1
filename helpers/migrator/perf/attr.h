/* SPDX-License-Identifier: Apache-2.0 */
/* What perf events sample, for the sources that use them and for the broker, which opens some in their place. Pure. */
#ifndef HM_MIGRATOR_PERF_ATTR_H
#define HM_MIGRATOR_PERF_ATTR_H

#include <linux/perf_event.h>
#include <stdint.h>

#define HM_PERF_CLOCK_COARSEST_NS 1000000000

/* Sets what all events have in common: user mode only, addresses, read in batches. */
void hm_perf_attr(struct perf_event_attr *attr, uint32_t type, uint64_t config);
/*
 * The event of the source clock: where a thread is in user mode, and its general registers there, at ticks of its CPU
 * time. No stack, no memory, nothing of threads that it makes. It is not enabled, and has the longest period: who has
 * it sets another one (PERF_EVENT_IOC_PERIOD).
 */
void hm_perf_attr_clock(struct perf_event_attr *attr);

#endif
