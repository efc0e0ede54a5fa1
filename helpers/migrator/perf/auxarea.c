/* SPDX-License-Identifier: Apache-2.0 */
#include "auxarea.h"

#include <linux/perf_event.h>

#include "base/amount.h"
#include "spe.h"

#define BATCH 64 /* records that are decoded together */
#define INCOMPLETE (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION)

/* Goes to the next chunk that has bytes. Returns whether there is one. */
static bool next_chunk(struct hm_aux *aux, const struct hm_ring *ring, uint64_t head, uint64_t *tail,
                       struct hm_ring_counts *counts)
{
    struct hm_ring_chunk chunk;
    while (aux->at == aux->end && hm_ring_read_chunk(ring, head, tail, &chunk, counts)) {
        counts->lost += (chunk.flags & INCOMPLETE) != 0;
        if (chunk.size > aux->bytes || chunk.offset - aux->tail > aux->bytes - chunk.size) {
            counts->torn++;
            continue;
        }
        aux->at = chunk.offset;
        aux->end = chunk.offset + chunk.size;
    }
    return aux->at != aux->end;
}

/* Decodes at most BATCH records of the chunk. What lies beyond the area's end is left for the next call: the hardware
 * never writes a record across it. */
static size_t decode(struct hm_aux *aux, struct hm_spe_record *record, size_t room, struct hm_ring_counts *counts)
{
    struct hm_spe_counts found = {0};
    size_t from = (size_t)(aux->at & (aux->bytes - 1)), to = from;
    size_t end = from + (size_t)hm_least(aux->end - aux->at, aux->bytes - from);
    size_t n = hm_spe_decode(aux->data, end, &to, record, (size_t)hm_least(room, BATCH), &found);
    counts->torn += found.torn;
    aux->at += to - from;
    return n;
}

size_t hm_aux_read(struct hm_aux *aux, const struct hm_ring *ring, uint64_t head, uint64_t *tail,
                   struct hm_ring_sample *out, size_t room, struct hm_ring_counts *counts)
{
    struct hm_spe_record record[BATCH];
    size_t taken = 0;
    while (taken < room && next_chunk(aux, ring, head, tail, counts)) {
        size_t n = decode(aux, record, room - taken, counts);
        for (size_t i = 0; i < n; i++) {
            union perf_mem_data_src source = {.mem_op = record[i].is_store ? PERF_MEM_OP_STORE : PERF_MEM_OP_LOAD};
            if (record[i].is_user)
                out[taken++] =
                    (struct hm_ring_sample){.address = record[i].address, .data_src = source.val, .is_user = true};
        }
        aux->tail = aux->at;
    }
    return taken;
}

void hm_aux_skip(struct hm_aux *aux, uint64_t head)
{
    if (head - aux->tail <= aux->bytes)
        aux->tail = head;
}
