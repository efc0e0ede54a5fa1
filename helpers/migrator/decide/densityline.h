/* SPDX-License-Identifier: Apache-2.0 */
/* The line of all pages, without large holes, on which density.c halves: for density*.c only. */
#ifndef HM_MIGRATOR_DECIDE_DENSITYLINE_H
#define HM_MIGRATOR_DECIDE_DENSITYLINE_H

#include "density.h"

/* A place on the line, and what lies before it. */
struct hm_line_place {
    struct hm_density_sum before;
    uint64_t even_until; /* up to this place there is nothing but the cell that the place is in; 0: it is in none */
};

/* Lay the density's cells out: sums, stretches, length. */
void hm_line_lay_out(struct hm_density *density);
/* The stretch in which a place of the line lies. */
const struct hm_stretch *hm_line_stretch(const struct hm_density *density, uint64_t at);
struct hm_line_place hm_line_place(const struct hm_density *density, uint64_t at);

#endif
