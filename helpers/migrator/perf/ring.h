/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the records in a ring buffer of the kernel's perf events (struct perf_event_mmap_page and the data after it,
 * see linux/perf_event.h). Pure: the caller maps the ring, reads data_head with acquire, and writes data_tail with
 * release. Whatever the ring contains, nothing outside it is read.
 */
#ifndef HM_MIGRATOR_PERF_RING_H
#define HM_MIGRATOR_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The sample types that can be parsed: their fields are one word each, but for the registers. All others are refused;
 * most of them have a variable length.
 */
#define HM_RING_SAMPLE_TYPES                                                                                           \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |                 \
     PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT |              \
     PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_REGS_USER)

#define HM_RING_REGS 32 /* most registers of a sample */

struct hm_ring {
    const void *data;     /* the ring's data, after the control page */
    uint64_t size;        /* bytes: a power of two, at least 8 */
    uint64_t sample_type; /* of all events that write into the ring */
    unsigned n_regs;      /* bits in their sample_regs_user, at most HM_RING_REGS */
};

/* A field that sample_type does not have is 0. */
struct hm_ring_sample {
    uint64_t id; /* of the event */
    uint32_t pid, tid;
    uint64_t address;           /* 0: the hardware did not know it */
    uint64_t period;            /* number of events that the sample stands for */
    uint64_t data_src;          /* union perf_mem_data_src */
    uint64_t ip;                /* where the code is that was executed */
    uint64_t reg[HM_RING_REGS]; /* the thread's registers in user mode, in the order of the bits in sample_regs_user */
    bool is_user;               /* taken in user mode */
    bool has_regs;
};

/* A part of an event's AUX area that the hardware has filled. */
struct hm_ring_chunk {
    uint64_t offset, size; /* bytes; the offset counts on from one turn of the area to the next */
    uint64_t flags;        /* PERF_AUX_FLAG_... */
};

/* Sums over all calls. */
struct hm_ring_counts {
    uint64_t samples;
    uint64_t lost;      /* records that the kernel dropped (LOST and LOST_SAMPLES) */
    uint64_t throttled; /* times that the kernel stopped an event until the next tick */
    uint64_t others;    /* records of other types */
    uint64_t torn;      /* times that the ring made no sense and was skipped up to its head */
};

/*
 * Reads records from *tail on, until `head`, or until `room` samples were read. *tail is then after the last record
 * read. The ring makes no sense if a record has the size 0, a size that is no multiple of 8, or more bytes than there
 * are; if *tail or `head` is no multiple of 8, or they are further apart than the ring's size; if a sample has another
 * form than sample_type says; or if a record of lost records is too short. Then all up to `head` is skipped and counted
 * as torn. Returns the number of samples in `out`.
 */
size_t hm_ring_read(const struct hm_ring *ring, uint64_t head, uint64_t *tail, struct hm_ring_sample *out, size_t room,
                    struct hm_ring_counts *counts);

/*
 * The same for the records of an event with an AUX area: reads up to the next PERF_RECORD_AUX, which is counted with
 * the others. A ring with one that is too short makes no sense. Samples are skipped. Returns false if there is none
 * before `head`.
 */
bool hm_ring_read_chunk(const struct hm_ring *ring, uint64_t head, uint64_t *tail, struct hm_ring_chunk *chunk,
                        struct hm_ring_counts *counts);

#endif
