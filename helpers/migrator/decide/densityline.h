/* SPDX-License-Identifier: Apache-2.0 */
/* The line of all pages, without large holes, that density.c halves. For density*.c only. */
#ifndef HM_MIGRATOR_DECIDE_DENSITYLINE_H
#define HM_MIGRATOR_DECIDE_DENSITYLINE_H

#include <math.h>

#include "density.h"

/* A place on the line, and the sums before it. */
struct hm_line_place {
    struct hm_density_sum before;
    uint64_t even_until; /* the end of the cell that the place is in; 0: the place is in no cell */
    size_t stretch;      /* the number of the stretch with the place; of the last one at the line's end */
    size_t cell;         /* the number of the cell with the place, or else of the next one; cells->n: there is none */
};

/* How much a sample tells, compared with a counted one (0..1), where the samples are `mass` and have this variance.
 * Neither a weight above 1 nor a spread over many pages makes a sample tell more. Both are above 0. */
static inline double hm_line_worth(double mass, double variance)
{
    const double least = 1e-12; /* a sample may be spread over very many pages */
    return fmax(fmin(mass / variance, 1), least);
}

/* The share of writes in samples. The fewer they are, the closer it is to `above`, the share of the whole. */
static inline double hm_line_write_share(double writes, double samples, double above)
{
    const double prior = 2; /* weight, in samples, of the whole's share */
    return (writes + prior * above) / (samples + prior);
}

/* Lays the cells out on the line: sets sums, stretches and length. */
void hm_line_lay_out(struct hm_density *density);
/* The stretch that contains this place of the line. */
const struct hm_stretch *hm_line_stretch(const struct hm_density *density, uint64_t at);
struct hm_line_place hm_line_begin(const struct hm_density *density);
struct hm_line_place hm_line_end(const struct hm_density *density);
/* The place `at` pages from the line's beginning, which is between these two. Within a cell, the sums grow evenly. */
struct hm_line_place hm_line_place(const struct hm_density *density, uint64_t at, const struct hm_line_place *from,
                                   const struct hm_line_place *to);

#endif
