/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a source of perf events. targets.c chooses what is watched, perfwatch.c reads it. */
#ifndef HM_MIGRATOR_SOURCES_PERFWATCHPARTS_H
#define HM_MIGRATOR_SOURCES_PERFWATCHPARTS_H

#include "migrator/perf/budget.h"
#include "migrator/perf/slot.h"
#include "perfwatch.h"

#define HM_PERF_SLOTS 4096 /* most threads, or CPUs of the cgroup, that are watched */

struct hm_perf_watched {
    struct hm_source source;
    struct hm_perf_plan plan;
    void *locator; /* for the plan's `locate` */
    struct hm_perf_budget budget;
    struct hm_ring_counts counts;
    double share;    /* of the CPU time that sampling may use */
    unsigned n_cpus; /* of the step */
    bool is_wide;    /* the whole cgroup is watched, not each thread by itself */
    struct hm_perf_slot **slot;
    size_t n;
    uint64_t blind;                        /* samples in a row without an address */
    uint64_t since_ns, records, throttled; /* values at the last comparison with the budget */
    uint64_t begun_ns;                     /* first begin of watching */
    double spent_mean, records_mean;       /* with is_time: of a second, where the last ones weigh most */
    double spent_s;                        /* CPU time that reading has taken since then */
    double located_s;                      /* CPU time of the locator that is paid for */
    pid_t last_pid;                        /* pid of the sample before, and its space */
    int last_space;
};

/* The update function of the source: watches the cgroup as a whole; or watches new threads, and drops the threads of
 * processes that are gone. */
int hm_perf_update(struct hm_source *source, const struct hm_ranks *ranks, const struct hm_maps *maps,
                   struct hm_error *error);
/* Closes a slot and removes it; the last slot takes its place. */
void hm_perf_drop(struct hm_perf_watched *watch, size_t at);

#endif
