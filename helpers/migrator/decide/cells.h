/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores samples by page, and forgets them slowly: disjoint cells by ascending page, each with samples that are spread
 * evenly over it. A sampled address is a cell of one page; a range cuts the cells that it overlaps. If there are too
 * many cells, neighbours with the least evidence are joined. For the decision code.
 *
 * A counted sample is one access that was seen at its address (perf). A source that estimates the accesses to a range
 * (DAMON) gives samples that tell less, as their variance is larger.
 */
#ifndef HM_MIGRATOR_DECIDE_CELLS_H
#define HM_MIGRATOR_DECIDE_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algorithm.h"

struct hm_cell {
    uint64_t first, n_pages;
    float reads, writes;         /* samples of all phases, weighted by age */
    float excess;                /* how much the variance of reads + writes exceeds that of counted samples */
    float new_reads, new_writes; /* samples of this phase alone */
    float new_excess;
};

struct hm_cells {
    struct hm_cell *cell, *spare; /* room for `room` cells each; `spare` also for `pending_room` observations */
    size_t n, room;
    struct hm_observation *pending; /* observations that are not sorted in yet */
    size_t n_pending, pending_room;
    double read_weight, write_weight; /* weight of a read and of a write sample in sums */
};

/*
 * The number of counted samples that tell as much as `samples` with this excess variance: the squared mean divided by
 * the variance.
 */
static inline double hm_cell_evidence(double samples, double excess)
{
    return excess > 0 ? samples * (samples / (samples + excess)) : samples;
}

/* The first page after the cell. */
static inline uint64_t hm_cell_end(const struct hm_cell *cell)
{
    return HM_PAGE_END(cell->first, cell->n_pages);
}

/* Index of the first cell that contains `page` or comes after it: known to be from `low` to `high`. Of all cells, that
 * is 0 to cells->n, and cells->n if there is none. */
size_t hm_cells_find(const struct hm_cells *cells, uint64_t page, size_t low, size_t high);

/* Adds an observation. It is pending until hm_cells_sort_in(), which is called when there is no room. */
void hm_cells_add(struct hm_cells *cells, const struct hm_observation *observation);
/* Sorts the pending observations into the cells, as samples of this phase. */
void hm_cells_sort_in(struct hm_cells *cells);
/*
 * Ends the phase: multiplies older samples by `decay` and adds those of this phase. Cells with next to no samples are
 * removed. Adjacent cells whose samples were not counted one by one are joined if together they tell no more than one
 * counted sample, or if one of them would be removed otherwise.
 */
void hm_cells_age(struct hm_cells *cells, double decay);
/* Forgets the pages of these spans, which are ascending and apart from each other. */
void hm_cells_forget(struct hm_cells *cells, const struct hm_gone *gone, size_t n);
/*
 * The sum of the weighted samples of this phase in the span. `variance` gets its variance: the sum itself, as for
 * samples of weight 1, plus the excess of the cells. To be called between hm_cells_sort_in and hm_cells_age.
 */
double hm_cells_new_in(const struct hm_cells *cells, uint64_t first, uint64_t end, double *variance);

#endif
