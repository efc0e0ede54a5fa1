/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out how long samples are worth keeping. In each extent, the samples of the last phase differ from the mean of
 * the phases before it. Where heat has moved, this phase differs from that mean as much; where it was chance, or a part
 * of the program that comes and goes, this phase does not. So the regression of this phase's differences on those of
 * the last one tells which share of a new difference stays. A filter that adds this share of it to the mean predicts
 * best: it is the gain of a Kalman filter (Mehra, "On the identification of variances and adaptive Kalman filtering",
 * IEEE Transactions on Automatic Control 15, 1970), here measured without knowing the variances. For the decision code.
 */
#ifndef HM_MIGRATOR_DECIDE_DRIFT_H
#define HM_MIGRATOR_DECIDE_DRIFT_H

#include "cells.h"

struct hm_drift {
    /* Sums over extents and phases, older phases weigh less: the square of the last phase's difference, and its product
     * with this phase's; each divided by the variance that chance gives it. */
    double squares, products;
};

/*
 * Compares the samples of a phase that ends with those of the last one and with the older ones; all phases together
 * have `weight`. The extents are those before the phase. Call it when the samples are sorted in, before they age.
 */
void hm_drift_see(struct hm_drift *drift, const struct hm_cells *cells, const struct hm_extent *extent,
                  size_t n_extents, double weight);
/* The factor that the old samples are to be multiplied by, which have the weight `weight`, when a phase is added. */
double hm_drift_decay(const struct hm_drift *drift, double weight);

#endif
