/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records in a ring buffer of the kernel's perf events (struct perf_event_mmap_page and what follows it, of
 * linux/perf_event.h). Pure: the caller maps the ring, reads data_head with acquire and writes data_tail with release.
 * Nothing outside of the ring is read, whatever is in it.
 */
#ifndef HM_MIGRATOR_PERF_RING_H
#define HM_MIGRATOR_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What can be asked of a sample: fields of one word each. Others have a length of their own and are refused. */
#define HM_RING_SAMPLE_TYPES                                                                                           \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |                 \
     PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT |              \
     PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_PHYS_ADDR)

struct hm_ring {
    const void *data;     /* behind the control page */
    uint64_t size;        /* bytes: a power of two, at least 8 */
    uint64_t sample_type; /* of all events that write into it */
};

/* A field that was not asked for is 0. */
struct hm_ring_sample {
    uint64_t id; /* of the event */
    uint32_t pid, tid;
    uint64_t address;  /* 0: the hardware knew none */
    uint64_t period;   /* events that it stands for */
    uint64_t data_src; /* union perf_mem_data_src */
    bool is_user;      /* taken in user mode */
};

/* Added up over calls. */
struct hm_ring_counts {
    uint64_t samples;
    uint64_t lost;      /* records that the kernel dropped: LOST and LOST_SAMPLES */
    uint64_t throttled; /* times that the kernel stopped an event until the next tick */
    uint64_t others;    /* records of types that say nothing here */
    uint64_t torn;      /* times that what was there made no sense; what followed was skipped */
};

/*
 * Take records from *tail on, until `head` or until `room` samples are taken; *tail is then behind the last record that
 * was taken. Where the ring makes no sense (a record of size 0, of a size that is no multiple of 8, or larger than what
 * is there; head beyond the ring's size; a sample of another form than sample_type), all up to `head` is skipped and
 * counted as torn. Returns the number of samples in `out`.
 */
size_t hm_ring_read(const struct hm_ring *ring, uint64_t head, uint64_t *tail, struct hm_ring_sample *out, size_t room,
                    struct hm_ring_counts *counts);

#endif
