/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was sampled, by address: a sorted list of cells, each the samples of one page. Where there are more pages than
 * cells, all cells get twice as large, as often as needed; when they get few, smaller again. So memory is bounded,
 * whatever the size of the job. Pure.
 */
#ifndef HM_EVIDENCE_H
#define HM_EVIDENCE_H

#include "decide.h"

struct hm_cell {
    uint64_t key;                /* page >> shift */
    float reads, writes;         /* samples of phases that are over; older ones count for less */
    float new_reads, new_writes; /* of this phase */
    float weight;                /* phases that the former stand for; negative: new, not known yet */
};

struct hm_sampled {
    uint64_t key;
    float reads, writes;
};

struct hm_evidence {
    unsigned shift; /* a cell has 2^shift pages */
    size_t n_cells, most_cells;
    struct hm_cell *cell, *spare; /* by ascending key; room for most_cells + room */
    struct hm_sampled *sampled;   /* not in the cells yet */
    size_t n_sampled, room;
};

/* Add what was observed: a valid observation (hm_observation_is_valid). */
void hm_evidence_add(struct hm_evidence *evidence, const struct hm_observation *observation);
/* Bring all that was added into the cells. */
void hm_evidence_absorb(struct hm_evidence *evidence);
/* Drop the pages first .. end - 1. */
void hm_evidence_forget(struct hm_evidence *evidence, uint64_t first, uint64_t end);
/* At the end of a phase: drop cells that say nothing any more, and make cells smaller where there is room. */
void hm_evidence_tidy(struct hm_evidence *evidence);

#endif
