/* SPDX-License-Identifier: Apache-2.0 */
#include "trust.h"

#define FADE 0.8  /* of the sums, by phase: an old failure is forgotten within some ten phases */
#define FIRST 0.6 /* belief before anything came true: a move wants more gain than would just pay for it */
/* What the first belief weighs, as a share of a phase's samples: what comes of a smaller move drowns in noise. */
#define WEIGHT 1.0

void hm_trust_begin(struct hm_trust *trust)
{
    trust->now = (trust->now + 1) % HM_TRUST_PHASES;
    trust->n[trust->now] = 0;
    trust->gain[trust->now] = 0;
}

void hm_trust_promise(struct hm_trust *trust, const struct hm_promise *promise, double heat)
{
    trust->promise[trust->now][trust->n[trust->now]++] = *promise;
    trust->gain[trust->now] += promise->part < 0 ? -heat : heat;
}

void hm_trust_see(struct hm_trust *trust, const struct hm_cells *cells)
{
    double promised = 0, kept = 0;
    for (int phase = 0; phase < HM_TRUST_PHASES; phase++) {
        promised += trust->gain[phase];
        for (size_t i = 0; i < trust->n[phase]; i++) {
            const struct hm_promise *promise = &trust->promise[phase][i];
            kept += promise->part * hm_cells_new_in(cells, promise->first, promise->first + promise->n_pages);
        }
    }
    trust->samples = hm_cells_new_in(cells, 0, UINT64_MAX);
    trust->promised = trust->promised * FADE + (promised > 0 ? promised : 0);
    trust->kept = trust->kept * FADE + (promised > 0 ? kept : 0);
}

double hm_trust_factor(const struct hm_trust *trust)
{
    double weight = WEIGHT * trust->samples;
    if (trust->promised + weight <= 0)
        return FIRST;
    double factor = (trust->kept + FIRST * weight) / (trust->promised + weight);
    return factor < 0 ? 0 : factor > 1 ? 1 : factor;
}
