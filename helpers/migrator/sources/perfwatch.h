/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source made of perf events on the threads of a step, or on its cgroup. The sources perf and faults both use it,
 * with different events.
 */
#ifndef HM_MIGRATOR_SOURCES_PERFWATCH_H
#define HM_MIGRATOR_SOURCES_PERFWATCH_H

#include <linux/perf_event.h>

#include "migrator/perf/attr.h"
#include "migrator/perf/ring.h"
#include "migrator/perf/table.h"
#include "source.h"

#define HM_PERF_SHARE 0.5 /* of the overhead; the migrator itself has the other half */

struct hm_perf_plan {
    int n_events;
    struct perf_event_attr attr[HM_PERF_EVENTS]; /* from hm_perf_attr() */
    enum hm_perf_kind kind[HM_PERF_EVENTS];
    bool has_packets;     /* the hardware writes into an AUX area, in SPE's packets; then n_events is 1 */
    bool is_time;         /* the period is in ns of CPU time, and fitted to what records cost */
    uint64_t period;      /* the wanted period; a multiple of the processor's period_multiple */
    uint64_t finest;      /* with is_time: the period is never shorter */
    uint64_t period_most; /* the period is never longer; 0: no such limit */
    const char *lender;   /* path of the socket of the broker that opens the events; NULL: the source does */
    double record_s;      /* CPU time of the kernel for a record; 0: not known */
    bool tells_cost;      /* record_s was measured, so that the record can tell the kernel's CPU time */
    /* Finds the addresses that the samples' threads access, where the hardware does not tell them; NULL: it does. `end`
     * frees the locator; `is_over` tells why it finds no more, or NULL. */
    void (*locate)(void *locator, struct hm_ring_sample *sample, size_t n);
    const char *(*is_over)(void *locator);
    double (*cpu_s)(const void *locator); /* CPU time that it has used outside of this process */
    double locator_share;                 /* of the CPU time for sampling, that this may be */
    void (*end)(void *locator);
};

/*
 * Tries the events on this process, chooses between one event per thread and one per CPU for the whole cgroup, and
 * makes a source. Nothing is watched before the first update. Returns NULL with the reason.
 */
struct hm_source *hm_perf_watch(const struct hm_source_row *row, const struct hm_source_setup *setup,
                                const struct hm_perf_plan *plan, struct hm_error *error);

/* Opens the events of a source that has just been made on this cgroup, on each of its CPUs. Returns 0, or -1 with errno
 * and none is open. */
int hm_perf_watch_cgroup(struct hm_source *source, const char *cgroup);
/* Begins to watch with a locator: what the plan's `locate` is called with. Events that the plan has disabled are
 * enabled. */
void hm_perf_begin(struct hm_source *source, void *locator);
/* Stops watching for now: the events stay open, the locator is freed, and all that was counted is 0 again. */
void hm_perf_pause(struct hm_source *source);

/*
 * Makes an observation of a sample; the caller sets its page. The sample stands for its own period, or for `period` if
 * it does not have one; `unit` is the period that counts as 1. Pure.
 */
struct hm_observation hm_perf_weigh(const struct hm_ring_sample *sample, enum hm_perf_kind kind, uint64_t period,
                                    uint64_t unit);

#endif
