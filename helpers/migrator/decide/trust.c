/* SPDX-License-Identifier: Apache-2.0 */
#include "trust.h"

#include <math.h>

#define FADE 0.6 /* weight that old sums keep at each phase: the last three phases have three quarters of all */
/*
 * The prior: a Beta distribution of the share of a gain that goes on from one phase to the next. In trials, so much
 * came true, and so much did not; a first gain is expected to last two phases.
 */
#define FIRST_KEPT 1.0
#define FIRST_LOST 0.5

void hm_trust_begin(struct hm_trust *trust)
{
    trust->n = 0;
    trust->gain = 0;
}

void hm_trust_promise(struct hm_trust *trust, const struct hm_promise *promise, double heat)
{
    trust->promise[trust->n++] = *promise;
    trust->gain += promise->part < 0 ? -heat : heat;
}

void hm_trust_see(struct hm_trust *trust, const struct hm_cells *cells)
{
    double kept = 0, noise = 0;
    for (size_t i = 0; i < trust->n; i++) {
        const struct hm_promise *promise = &trust->promise[i];
        double variance;
        double samples = hm_cells_new_in(cells, promise->first, promise->first + promise->n_pages, &variance);
        kept += promise->part * samples;
        noise += promise->part * promise->part * variance;
    }
    double variance;
    trust->samples = hm_cells_new_in(cells, 0, UINT64_MAX, &variance);
    if (trust->samples > 0)
        trust->scatter = variance / trust->samples;
    double square = trust->gain * trust->gain;
    trust->promised = trust->promised * FADE + trust->gain;
    trust->kept = trust->kept * FADE + kept;
    trust->noise = trust->noise * FADE + noise;
    trust->trials = trust->trials * FADE + square / (square + noise + fmax(trust->scatter, 1));
}

static double within(double share)
{
    return fmin(fmax(share, 0), 1);
}

/*
 * The share of a gain that comes true in the next phase: the posterior mean, with a normal prior of the Beta
 * distribution's mean and variance. `kept` is share * `promised`, seen with variance `noise`. The noise is at least
 * that of one sample, for phases without samples.
 */
static double next_share(const struct hm_trust *trust)
{
    const double all = FIRST_KEPT + FIRST_LOST, prior = all * all * (all + 1) / (FIRST_KEPT * FIRST_LOST);
    double noise = trust->noise + fmax(trust->scatter, 1);
    return within((FIRST_KEPT / all * prior + trust->kept * trust->promised / noise) /
                  (prior + trust->promised * trust->promised / noise));
}

/*
 * What comes true in the next phase goes on in the phases after it, in each with the same unknown probability. The odds
 * of that are the number of further phases, on the mean: those of the prior with the trials added.
 */
double hm_trust_phases(const struct hm_trust *trust)
{
    double share = trust->promised > 0 ? within(trust->kept / trust->promised) : 0;
    double further = (FIRST_KEPT + trust->trials * share) / (FIRST_LOST + trust->trials * (1 - share));
    return next_share(trust) * (1 + further);
}
