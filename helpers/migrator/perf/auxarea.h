/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the samples that hardware writes into the AUX area of a perf event (aux_head in struct perf_event_mmap_page,
 * see linux/perf_event.h), in SPE's packets (spe.h). The event's ring says which chunks of the area are filled. Pure:
 * the caller maps ring and area, and writes aux_tail. Whatever they contain, nothing outside of them is read.
 */
#ifndef HM_MIGRATOR_PERF_AUXAREA_H
#define HM_MIGRATOR_PERF_AUXAREA_H

#include <stddef.h>
#include <stdint.h>

#include "ring.h"

struct hm_aux {
    void *data;       /* NULL: the event has no such area */
    size_t bytes;     /* a power of two */
    uint64_t tail;    /* all before it was read, or skipped: the next aux_tail; offsets count on from turn to turn */
    uint64_t at, end; /* the part of the last chunk that was not read yet */
};

/*
 * Reads loads and stores of user mode, until `room` of them were read, or all chunks are read that the ring has before
 * `head`. Each has its address, and in data_src whether it is a load or a store. A chunk that does not lie within the
 * area's size after aux->tail is skipped, and counted as torn, as are packets that make no sense. A chunk whose flags
 * say that samples are missing adds 1 to counts->lost: how many are missing is not told. Returns the number of samples
 * in `out`; they do not add to counts->samples, which are the kernel's records.
 */
size_t hm_aux_read(struct hm_aux *aux, const struct hm_ring *ring, uint64_t head, uint64_t *tail,
                   struct hm_ring_sample *out, size_t room, struct hm_ring_counts *counts);

/* Everything was read. Moves aux->tail to `head`, an aux_head from before the ring's head was read, if it is not there
 * yet: no record is left for what lies between. */
void hm_aux_skip(struct hm_aux *aux, uint64_t head);

#endif
