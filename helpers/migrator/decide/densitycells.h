/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other estimate of density.h, for heat that neighbours do not share: each cell by itself. The cells' heats are
 * taken to be drawn from a Gamma distribution whose mean is that of all pages; a cell's heat is the posterior mean (an
 * empirical Bayes estimate: Clayton and Kaldor, Biometrics 1987). So the fewer samples a cell has, the nearer it is
 * to the mean. Only for blocks that were looked at one by one: where single pages were sampled, or regions whose
 * borders wander, the cells are where chance has cut them. For density*.c only.
 */
#ifndef HM_MIGRATOR_DECIDE_DENSITYCELLS_H
#define HM_MIGRATOR_DECIDE_DENSITYCELLS_H

#include "density.h"

/* What is known of all cells together. */
struct hm_apart {
    double dispersion;  /* variance of the sum of weighted samples, divided by its mean */
    double mean;        /* samples per page */
    double rate;        /* the same, each cell weighted by what its samples are worth: the rate if all have one */
    double gap_worth;   /* how much a sample in memory without samples would tell */
    double write_share; /* of all samples */
    /* how much likelier the samples are than if all pages had one rate, less the price of the choice: the logarithm, as
     * in density.c; -INFINITY where this estimate is of no use */
    double log_ratio;
};

/* Weighs how well the estimate explains the samples. The line must be laid out. */
struct hm_apart hm_apart_weigh(const struct hm_density *density, double dispersion);
/* Passes all spans to `take` by ascending page. */
void hm_apart_estimate(const struct hm_density *density, const struct hm_apart *apart, hm_density_take *take,
                       void *data);

#endif
