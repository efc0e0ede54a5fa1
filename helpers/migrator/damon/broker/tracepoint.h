/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what one kdamond (DAMON's kernel thread) has found: a perf event on DAMON's tracepoint, for this thread alone,
 * puts the records into a ring buffer. gathering.h joins them into complete lists of regions. */
#ifndef HM_MIGRATOR_DAMON_BROKER_TRACEPOINT_H
#define HM_MIGRATOR_DAMON_BROKER_TRACEPOINT_H

#include <sys/types.h>

#include "migrator/damon/gathering.h"

struct hm_damon_tracepoint {
    int fd; /* -1: not open */
    void *map;
    uint64_t lost; /* records and lists lost, as hm_damon_gathering_read counts them */
    struct hm_damon_gathering *gathering;
};

/*
 * Looks up the tracepoint in a tracefs instance that is not mounted anywhere. Needs CAP_SYS_ADMIN. Returns 0, or -1
 * with a text.
 */
int hm_damon_tracepoint_find(struct hm_damon_layout *layout, struct hm_error *error);
/*
 * Opens the perf event on the kernel thread `kdamond`. Needs CAP_PERFMON, CAP_SYS_ADMIN where caps.h says so, and
 * CAP_IPC_LOCK where the ring buffers of several kdamonds are more memory than a user may lock. Returns 0, or -1 with a
 * text.
 */
int hm_damon_tracepoint_open(struct hm_damon_tracepoint *tracepoint, const struct hm_damon_layout *layout,
                             pid_t kdamond, struct hm_error *error);
/* Passes the complete lists of regions to `sink`. Never waits. */
void hm_damon_tracepoint_read(struct hm_damon_tracepoint *tracepoint, const struct hm_damon_layout *layout,
                              hm_damon_gathering_sink *sink, void *data);
void hm_damon_tracepoint_close(struct hm_damon_tracepoint *tracepoint);
/*
 * Keeps the tracepoint in use: when the last event on it is closed, the kernel takes its probe away, and the caller
 * waits until no CPU runs it; the next event has all of this set up again. Each burst opens and closes an event. Needs
 * the same capabilities as hm_damon_tracepoint_open. Returns a descriptor to close at the end, or -1: bursts only cost
 * more then.
 */
int hm_damon_tracepoint_keep(const struct hm_damon_layout *layout);

#endif
