/* SPDX-License-Identifier: Apache-2.0 */
#include "trust.h"

#include <math.h>

#define FADE 0.6   /* weight that old sums keep at each phase: the last three phases have three quarters of all */
#define FIRST 0.1  /* belief before any experience: a first trial costs one phase, useless moves cost more */
#define SPREAD 0.5 /* standard error of that belief: large, as nothing is known yet */

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

double hm_trust_see(struct hm_trust *trust, const struct hm_cells *cells)
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
    trust->promised = trust->promised * FADE + trust->gain;
    trust->kept = trust->kept * FADE + kept;
    trust->noise = trust->noise * FADE + noise;
    return kept;
}

/*
 * The posterior mean of the factor, with a normal prior: `kept` is factor * `promised`, seen with variance `noise`. The
 * noise is at least that of one sample, for phases without samples.
 */
double hm_trust_factor(const struct hm_trust *trust)
{
    double prior = 1 / (SPREAD * SPREAD), noise = trust->noise + fmax(trust->scatter, 1);
    double factor =
        (FIRST * prior + trust->kept * trust->promised / noise) / (prior + trust->promised * trust->promised / noise);
    return factor < 0 ? 0 : factor > 1 ? 1 : factor;
}
