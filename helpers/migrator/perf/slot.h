/* SPDX-License-Identifier: Apache-2.0 */
/* A ring and the perf events that write into it: those of one thread, or those of a cgroup on one CPU. */
#ifndef HM_MIGRATOR_PERF_SLOT_H
#define HM_MIGRATOR_PERF_SLOT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "auxarea.h"
#include "ring.h"
#include "table.h"

struct hm_perf_slot {
    pid_t pid;                         /* process of the thread; 0: events of a cgroup on a CPU */
    int target;                        /* the thread, or the CPU */
    int fd[HM_PERF_EVENTS];            /* of the events; -1: none; the first is for poll(2) */
    uint64_t id[HM_PERF_EVENTS];       /* of the events, as samples have it */
    struct perf_event_mmap_page *page; /* the control page, with the ring after it */
    size_t bytes;                      /* bytes mapped, control page included */
    struct hm_aux aux;                 /* where the hardware writes samples itself; else they are in the ring */
    bool is_over;                      /* the thread has ended, and no more samples will come */
};

/*
 * Opens `n` sampling events as `attr` describes them, and maps a ring with `data_bytes` of data (a power of two; one
 * page at least; less if the user's limit of locked memory is reached). With `aux_bytes` other than 0, an AUX area of
 * this size (a power of two; two pages at least; less, too) is mapped for the first event, which is enabled afterwards:
 * `attr` has it disabled. `open_pid` and `cpu` are those of perf_event_open(2). Returns 0, or -1 with errno (ENOMEM:
 * the user may lock no more memory, not even for the least size) and nothing left open.
 */
int hm_perf_slot_open(struct hm_perf_slot *slot, const struct perf_event_attr *attr, int n, pid_t open_pid, int cpu,
                      unsigned long flags, size_t data_bytes, size_t aux_bytes);
/* The same with an event that somebody else has opened, which is the slot's from now on, also where this fails. */
int hm_perf_slot_adopt(struct hm_perf_slot *slot, int event, size_t data_bytes);
void hm_perf_slot_close(struct hm_perf_slot *slot);
/* Drops the samples that are in the ring. */
void hm_perf_slot_drop(const struct hm_perf_slot *slot);
/* Enables events that `attr` had disabled, or disables them. */
void hm_perf_slot_enable(const struct hm_perf_slot *slot, bool is_enabled);
/* From now on, takes a sample every `period` events. An event that cannot be changed keeps its period. */
void hm_perf_slot_set_period(const struct hm_perf_slot *slot, uint64_t period);

/* How far the kernel has written: data_head of the ring, and aux_head, read before it. */
struct hm_perf_heads {
    uint64_t ring, aux;
};

/* The present heads. Read up to them and no further, so that a fast writer cannot keep the reader busy for ever. */
struct hm_perf_heads hm_perf_slot_heads(const struct hm_perf_slot *slot);
/*
 * Reads the next samples of events like `attr` up to the heads (see hm_ring_read and hm_aux_read). Once all are read
 * from an AUX area, its event is enabled, as the kernel stops an event whose area is full.
 */
size_t hm_perf_slot_read(struct hm_perf_slot *slot, const struct perf_event_attr *attr,
                         const struct hm_perf_heads *heads, struct hm_ring_sample *out, size_t room,
                         struct hm_ring_counts *counts);

#endif
