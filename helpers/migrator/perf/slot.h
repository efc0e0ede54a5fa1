/* SPDX-License-Identifier: Apache-2.0 */
/* One ring and the events that write into it: those of one thread, or of a cgroup on one CPU. */
#ifndef HM_MIGRATOR_PERF_SLOT_H
#define HM_MIGRATOR_PERF_SLOT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ring.h"
#include "table.h"

struct hm_perf_slot {
    pid_t pid;              /* whose thread it is; 0: a cgroup's, on a CPU */
    int target;             /* thread, or CPU */
    int fd[HM_PERF_EVENTS]; /* -1: none; poll the first */
    uint64_t id[HM_PERF_EVENTS];
    struct perf_event_mmap_page *page;
    size_t bytes; /* mapped, control page included */
    bool is_over; /* the thread has ended: nothing more will come */
};

/*
 * Open `n` events, sampling with what is in `attr`, and map a ring of `pages` data pages (a power of two; fewer where
 * the user's share of locked memory is used up). `open_pid` and `cpu` are perf_event_open's. Returns 0, or -1 with
 * errno and nothing left open.
 */
int hm_perf_slot_open(struct hm_perf_slot *slot, const struct perf_event_attr *attr, int n, pid_t open_pid, int cpu,
                      unsigned long flags, unsigned pages);
void hm_perf_slot_close(struct hm_perf_slot *slot);
/* From now on, a sample each `period` events. One that cannot be changed keeps its own. */
void hm_perf_slot_set_period(const struct hm_perf_slot *slot, uint64_t period);

/* data_head as it is now: read up to it, so that a fast writer cannot hold the reader. */
uint64_t hm_perf_slot_head(const struct hm_perf_slot *slot);
/* The next samples up to `head` (see hm_ring_read). */
size_t hm_perf_slot_read(const struct hm_perf_slot *slot, uint64_t sample_type, uint64_t head,
                         struct hm_ring_sample *out, size_t room, struct hm_ring_counts *counts);

#endif
