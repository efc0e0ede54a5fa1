/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a source of perf events. targets.c chooses what is watched, perfwatch.c reads it. */
#ifndef HM_MIGRATOR_SOURCES_PERFWATCHPARTS_H
#define HM_MIGRATOR_SOURCES_PERFWATCHPARTS_H

#include "lent.h"
#include "migrator/perf/budget.h"
#include "migrator/perf/slot.h"
#include "perfwatch.h"

#define HM_PERF_SLOTS 4096                   /* most threads, or CPUs of the cgroup, that are watched */
#define HM_PERF_LOCKED (UINT64_C(256) << 20) /* bytes of locked memory after which no more are */

struct hm_perf_watched {
    struct hm_source source;
    struct hm_perf_plan plan;
    void *locator; /* for the plan's `locate` */
    struct hm_perf_budget budget;
    struct hm_ring_counts counts;
    double share;          /* of the CPU time that sampling may use */
    unsigned n_cpus;       /* of the step */
    bool is_wide;          /* the whole cgroup is watched, not each thread by itself */
    struct hm_lent lent;   /* without a broker: the source opens its events itself */
    struct hm_retry retry; /* for threads that could not be watched */
    unsigned n_short;      /* walks in a row that could not watch all threads */
    struct hm_perf_slot **slot;
    size_t n;
    uint64_t locked_bytes;                 /* of all slots */
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
/* The same, of threads alone. */
int hm_perf_update_threads(struct hm_perf_watched *watch, const struct hm_ranks *ranks, struct hm_error *error);
/* The same with events that a broker lends. */
int hm_perf_update_lent(struct hm_perf_watched *watch, const struct hm_ranks *ranks, struct hm_error *error);

/* What a slot is to watch. */
struct hm_perf_target {
    pid_t pid;      /* process of the thread; 0: events of a cgroup on a CPU */
    int number;     /* the thread, or the CPU */
    pid_t open_pid; /* as for perf_event_open(2), with the next two */
    int cpu;
    unsigned long flags;
    int lent; /* the event, opened by somebody else; -1: it has to be opened */
};

/* Opens a slot. A lent event is the slot's, also where this fails. Returns 0, or -1 with errno (ENOSPC: no slot is
 * left, or HM_PERF_LOCKED is reached; EMFILE: no descriptor that may be kept). */
int hm_perf_add(struct hm_perf_watched *watch, const struct hm_perf_target *target);
/* Drops the slots of processes that are gone. */
void hm_perf_drop_gone(struct hm_perf_watched *watch, const struct hm_ranks *ranks);
/* A walk could not watch all threads, for this reason; or could, with NULL. The third in a row is told: by then, most
 * programs have begun all of their threads. */
void hm_perf_note_short(struct hm_perf_watched *watch, const struct hm_ranks *ranks, const char *why);
/* The number of threads of all processes. */
uint64_t hm_perf_count_threads(const struct hm_ranks *ranks);
/* Marks the processes of which not each thread is watched (hm_rank.has_unseen). */
void hm_perf_mark_unseen(const struct hm_perf_watched *watch, const struct hm_ranks *ranks);
/* The same where processes are new, for whose threads nobody looks yet. */
void hm_perf_mark_new(const struct hm_perf_watched *watch, const struct hm_ranks *ranks);
/* The targets of all slots, sorted; the caller frees the list. Returns NULL if there is no memory. */
int *hm_perf_list_targets(const struct hm_perf_watched *watch);
/*
 * Calls `visit` for each thread of a process that is not in such a list of n targets, by ascending number as the kernel
 * lists them, until it returns false. Returns whether it never did.
 */
typedef bool hm_perf_visit(void *data, pid_t pid, int thread);
bool hm_perf_visit_new(pid_t pid, const int *targets, size_t n, hm_perf_visit *visit, void *data);
/* Closes a slot and removes it; the last slot takes its place. */
void hm_perf_drop(struct hm_perf_watched *watch, size_t at);

#endif
