/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of a perf source: targets.c (what is watched) and watch.c (what is read of it). */
#ifndef HM_MIGRATOR_SOURCES_WATCHPARTS_H
#define HM_MIGRATOR_SOURCES_WATCHPARTS_H

#include "migrator/perf/budget.h"
#include "migrator/perf/slot.h"
#include "watch.h"

#define HM_PERF_SLOTS 4096

struct hm_perf_watched {
    struct hm_source source;
    struct hm_perf_plan plan;
    struct hm_perf_budget budget;
    struct hm_ring_counts counts;
    double allowed; /* CPUs */
    bool is_wide;
    struct hm_perf_slot **slot;
    size_t n;
    uint64_t blind;
    uint64_t since_ns, records, throttled; /* at the last look at the budget */
    double spent_s;                        /* by this process, since then */
    pid_t last_pid;                        /* the pid of the sample before, and its space */
    int last_space;
};

/* hm_source's update: watch what is new, drop what is gone. */
int hm_perf_update(struct hm_source *source, const struct hm_ranks *ranks, const struct hm_maps *maps,
                   struct hm_error *error);
/* Close a slot and take it out; the last takes its place. */
void hm_perf_drop(struct hm_perf_watched *watch, size_t at);

#endif
