/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was sampled, by page, forgotten slowly: disjoint cells by ascending page, each with the samples that are spread
 * evenly over it. A sampled address is a cell of one page; ranges cut the cells that they cross. Where there are more
 * cells than room, neighbours with the least evidence become one. For the decision code.
 */
#ifndef HM_MIGRATOR_DECIDE_CELLS_H
#define HM_MIGRATOR_DECIDE_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algorithm.h"

struct hm_cell {
    uint64_t first, n_pages;
    float reads, writes;         /* samples, all phases, by age */
    float excess;                /* variance of their sum beyond that of counts */
    float new_reads, new_writes; /* of this phase alone */
    float new_excess;
};

struct hm_cells {
    struct hm_cell *cell, *spare; /* room for `room` each */
    size_t n, room;
    struct hm_observation *pending; /* not in order yet */
    size_t n_pending, pending_room;
    double read_weight, write_weight; /* of a sample, where the two are added */
};

/* As many counted samples as tell as much, of so many that scatter more: the mean squared by the variance. */
static inline double hm_cell_evidence(double samples, double excess)
{
    return excess > 0 ? samples * (samples / (samples + excess)) : samples;
}

/* One past the cell's last page. */
static inline uint64_t hm_cell_end(const struct hm_cell *cell)
{
    return HM_PAGE_END(cell->first, cell->n_pages);
}

/* The first cell that ends behind `page`: an index, cells->n where there is none. */
size_t hm_cells_find(const struct hm_cells *cells, uint64_t page);

/* Take what was observed; brings in what is pending when there is no room. */
void hm_cells_add(struct hm_cells *cells, const struct hm_observation *observation);
/* Bring what is pending into the cells, as samples of this phase. */
void hm_cells_sort_in(struct hm_cells *cells);
/* End the phase: older samples count `decay` times, those of this phase are added; what is next to nothing goes, and
 * neighbours that say no more than one counted sample become one: those of which neither was counted. */
void hm_cells_age(struct hm_cells *cells, double decay);
/* Forget a span. */
void hm_cells_forget(struct hm_cells *cells, uint64_t first, uint64_t end);
/* Weighted samples of this phase in the span, and the variance of their sum, as if none weighed more than 1: between
 * hm_cells_sort_in and hm_cells_age. */
double hm_cells_new_in(const struct hm_cells *cells, uint64_t first, uint64_t end, double *variance);

#endif
