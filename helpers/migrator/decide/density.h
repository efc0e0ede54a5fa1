/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates heat from samples: a multiscale Poisson estimate (Kolaczyk and Nowak, "Multiscale likelihood analysis and
 * complexity penalized estimation", Annals of Statistics 2004). The pages, without large holes, are halved again and
 * again, which makes a tree whose nodes are the pieces. One can stop halving at any point; all ways to stop are
 * averaged, each weighted by how likely it makes the samples (Willems, Shtarkov and Tjalkens, "The context-tree
 * weighting method", IEEE Transactions on Information Theory 1995). So densely sampled memory gets sharp borders at any
 * place, thinly sampled memory gets even heat, and noise is not taken for heat. Where neighbours have nothing in
 * common, each piece that was looked at is estimated by itself (densitycells.h). For the decision code.
 */
#ifndef HM_MIGRATOR_DECIDE_DENSITY_H
#define HM_MIGRATOR_DECIDE_DENSITY_H

#include "cells.h"

/*
 * A stretch of pages without large holes, and its position `at` on the line on which all stretches follow each other.
 */
struct hm_stretch {
    uint64_t first, n_pages, at;
};

/* Sums over all cells before a place. */
struct hm_density_sum {
    double mass, writes; /* weighted samples, and those of them that are writes */
    double variance;     /* of the mass, as if each sample weighed 1: equal to the mass if all are counted (cells.h) */
    double evidence;     /* as the mass, but with each cell's evidence (cells.h) in place of its number of samples */
};

struct hm_density {
    const struct hm_cells *cells;
    struct hm_density_sum *before; /* by cell, the last is the sum of all; room for cells->room + 1 */
    struct hm_stretch *stretch;    /* room for cells->room */
    float *differs;    /* by node of the tree: the probability that its halves differ, 0..1; room for n_nodes */
    size_t most_apart; /* with more cells than this, none is estimated by itself */
    uint64_t hole;     /* pages: a longer run of pages without samples is a hole */
    double least;      /* fewest samples in a node that is split, if more than are needed to tell its halves apart; then
                          no cell is estimated by itself */
    size_t n_nodes, n_stretches;
    uint64_t length; /* of the line, in pages */
};

/* pages of even heat */
struct hm_span {
    uint64_t first, n_pages;
    double heat;        /* weighted samples per page, over all phases; older samples count less */
    double write_share; /* share of writes in the heat, 0..1 */
    double variance;    /* variance of the samples that it was estimated from, as if each had the weight 1 */
};

typedef void hm_density_take(void *data, const struct hm_span *span);

/* Estimates the heat, and passes all spans to `take` by ascending page. */
void hm_density_estimate(struct hm_density *density, hm_density_take *take, void *data);

#endif
