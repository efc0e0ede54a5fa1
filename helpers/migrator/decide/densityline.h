/* SPDX-License-Identifier: Apache-2.0 */
/* The line of all pages, without large holes, that density.c halves. For density*.c only. */
#ifndef HM_MIGRATOR_DECIDE_DENSITYLINE_H
#define HM_MIGRATOR_DECIDE_DENSITYLINE_H

#include "density.h"

/* A place on the line, and the sums before it. */
struct hm_line_place {
    struct hm_density_sum before;
    uint64_t even_until; /* the end of the cell that the place is in; 0: the place is in no cell */
};

/* Lays the cells out on the line: sets sums, stretches and length. */
void hm_line_lay_out(struct hm_density *density);
/* The stretch that contains this place of the line. */
const struct hm_stretch *hm_line_stretch(const struct hm_density *density, uint64_t at);
/* The place `at` pages from the line's beginning. Within a cell, the sums grow evenly. */
struct hm_line_place hm_line_place(const struct hm_density *density, uint64_t at);

#endif
