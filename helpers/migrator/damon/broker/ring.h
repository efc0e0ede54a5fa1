/* SPDX-License-Identifier: Apache-2.0 */
/* The records of one kdamond, from the kernel: a perf event on its tracepoint, with its ring buffer. */
#ifndef HM_MIGRATOR_DAMON_BROKER_RING_H
#define HM_MIGRATOR_DAMON_BROKER_RING_H

#include <sys/types.h>

#include "migrator/damon/trace.h"

struct hm_damon_ring {
    int fd; /* -1: not open */
    void *map;
    uint64_t lost;
    struct hm_damon_gathering *gathering;
};

/* Look the tracepoint up, in a tracefs that is mounted nowhere. Wants CAP_SYS_ADMIN. Returns 0, or -1 with a text. */
int hm_damon_tracepoint_find(struct hm_damon_layout *layout, struct hm_error *error);
/* Follow the kernel thread. Wants CAP_PERFMON (and CAP_IPC_LOCK for more than a few). Returns 0, or -1 with a text. */
int hm_damon_ring_open(struct hm_damon_ring *ring, const struct hm_damon_layout *layout, pid_t kdamond,
                       struct hm_error *error);
/* Hand over the lists that are there. Never waits. */
void hm_damon_ring_read(struct hm_damon_ring *ring, const struct hm_damon_layout *layout, hm_damon_trace_sink *sink,
                        void *data);
void hm_damon_ring_close(struct hm_damon_ring *ring);

#endif
