/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source made of perf events on the threads of a step, or on its cgroup: what the perf source and the faults source
 * have in common. They differ in the events only.
 */
#ifndef HM_MIGRATOR_SOURCES_WATCH_H
#define HM_MIGRATOR_SOURCES_WATCH_H

#include <linux/perf_event.h>

#include "migrator/perf/ring.h"
#include "migrator/perf/table.h"
#include "source.h"

struct hm_perf_plan {
    int n_events;
    struct perf_event_attr attr[HM_PERF_EVENTS]; /* from hm_perf_attr() */
    enum hm_perf_kind kind[HM_PERF_EVENTS];
    uint64_t period; /* wanted, a multiple of what the hardware can do */
};

/* What all events have in common: user mode only, addresses, read in batches. */
void hm_perf_attr(struct perf_event_attr *attr, uint32_t type, uint64_t config);

/*
 * Try the plan on this process itself, decide between one event per thread and one per CPU for the whole cgroup, and
 * make a source of it; nothing is watched before the first update. Returns NULL with the reason.
 */
struct hm_source *hm_perf_watch(const struct hm_source_row *row, const struct hm_source_setup *setup,
                                const struct hm_perf_plan *plan, struct hm_error *error);

/*
 * What a sample says, as an observation without its page. It stands for its own period, or for `period` where it does
 * not say; `unit` is the period that counts as one. Pure.
 */
struct hm_observation hm_perf_weigh(const struct hm_ring_sample *sample, enum hm_perf_kind kind, uint64_t period,
                                    uint64_t unit);

#endif
