/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heat from samples: a multiscale Poisson estimate (Kolaczyk and Nowak, "Multiscale likelihood analysis and complexity
 * penalized estimation", Annals of Statistics 2004). The pages, without the holes, are halved again and again, and all
 * ways to stop that are averaged by how likely each makes what was sampled (Willems, Shtarkov and Tjalkens, "The
 * context-tree weighting method", IEEE Transactions on Information Theory 1995). So what is densely sampled has sharp
 * borders wherever these lie, what is thinly sampled is even, and noise is not taken for heat. For the decision code.
 */
#ifndef HM_MIGRATOR_DECIDE_DENSITY_H
#define HM_MIGRATOR_DECIDE_DENSITY_H

#include "cells.h"

/* A stretch of pages without large holes, and where it begins on the line of all stretches. */
struct hm_stretch {
    uint64_t first, n_pages, at;
};

/* Of all cells before a place. */
struct hm_density_sum {
    double mass, writes; /* weighted samples, and those of them that are writes */
    double variance;     /* of their sum, as if none weighed more than 1 */
    double evidence;     /* as many weighted samples as tell as much, had all been counted */
};

struct hm_density {
    const struct hm_cells *cells;
    struct hm_density_sum *before; /* by cell, the last is of all: room for cells->room + 1 */
    struct hm_stretch *stretch;    /* room for cells->room */
    float *differs;                /* 0..1, how sure it is that the halves of a node differ: room for n_nodes */
    size_t n_nodes, n_stretches;
    uint64_t length; /* of the line */
};

/* Pages of even heat. */
struct hm_span {
    uint64_t first, n_pages;
    double heat;        /* weighted samples per page, all phases by age */
    double write_share; /* of them, 0..1 */
    double variance;    /* of the samples on which that rests, as if none weighed more than 1 */
};

typedef void hm_density_take(void *data, const struct hm_span *span);

/* Estimate, and hand out all spans by ascending page. */
void hm_density_estimate(struct hm_density *density, hm_density_take *take, void *data);

#endif
