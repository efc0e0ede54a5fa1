/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heat from samples: a multiscale Poisson estimate (Kolaczyk and Nowak, "Multiscale likelihood analysis and complexity
 * penalized estimation", Annals of Statistics 2004). The pages, without the holes, are halved again and again; each
 * half gets its part of the expected samples by how sure it is that the halves differ at all. So what is densely
 * sampled has sharp borders, what is thinly sampled is even, and noise is not taken for heat. For the decision code.
 */
#ifndef HM_DENSITY_H
#define HM_DENSITY_H

#include "cells.h"

/* A stretch of pages without large holes, and where it begins on the line of all stretches. */
struct hm_stretch {
    uint64_t first, n_pages, at;
};

struct hm_density {
    const struct hm_cells *cells;
    /* Room for cells->room of each, and one more of the first two. */
    double *mass, *writes; /* weighted samples, written samples: before each cell */
    struct hm_stretch *stretch;
    size_t n_stretches;
};

/* Pages of even heat. */
struct hm_span {
    uint64_t first, n_pages;
    double heat;        /* weighted samples per page, all phases by age */
    double write_share; /* of them, 0..1 */
    double samples;     /* on which that rests */
};

typedef void hm_density_take(void *data, const struct hm_span *span);

/* Estimate, and hand out all spans by ascending page. */
void hm_density_estimate(struct hm_density *density, hm_density_take *take, void *data);

#endif
