/* SPDX-License-Identifier: Apache-2.0 */
#include "loadshare.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define FEW 0.01       /* of the traffic: that of a few moves */
#define NEAR 0.003     /* a balance that costs at most this more than the best one stays as it is */
#define RECENT 0.9     /* weight that a phase keeps at each new one: a program's phases of any kind come again */
#define STEPS 50       /* of the search for the best share: first of the whole range, then of two of its steps */
#define ROUNDING 1e-12 /* latencies that differ by less are equal */

void hm_loadshare_add(struct hm_loadshare *seen, double fast_gbs, double slow_gbs)
{
    memmove(&seen->phase[1], &seen->phase[0], sizeof(seen->phase) - sizeof(seen->phase[0]));
    seen->phase[0] = (struct hm_loadshare_phase){fast_gbs, slow_gbs};
}

static double all_of(const struct hm_loadshare_phase *phase)
{
    return phase->fast_gbs + phase->slow_gbs;
}

/* The mean latency in ns over the phases, each by its weight, if the fast tier had served this share of each one's
 * traffic, and moves had added to both tiers so large a part of it. */
static double mean_latency(const struct hm_loadshare *seen, const struct hm_load *load, double share, double moves)
{
    double sum = 0, weights = 0, weight = 1;
    for (int i = 0; i < HM_LOADSHARE_PHASES; i++, weight *= RECENT) {
        double all = all_of(&seen->phase[i]);
        if (!(all > 0))
            continue;
        sum += weight * hm_load_cost(load, (share + moves) * all, (1 - share + moves) * all) / all;
        weights += weight;
    }
    return weights > 0 ? sum / weights : 0;
}

/* The share of least latency in a range; of equal ones the largest. */
static double best_between(const struct hm_loadshare *seen, const struct hm_load *load, double low, double high)
{
    double best = high, least = mean_latency(seen, load, high, 0);
    for (int i = STEPS; i-- > 0;) {
        double share = low + (high - low) * i / STEPS, latency = mean_latency(seen, load, share, 0);
        if (latency < least * (1 - ROUNDING)) {
            least = latency;
            best = share;
        }
    }
    return best;
}

/* Which share the fast tier served, on the mean. */
static double share_of(const struct hm_loadshare *seen)
{
    double fast = 0, all = 0, weight = 1;
    for (int i = 0; i < HM_LOADSHARE_PHASES; i++, weight *= RECENT) {
        fast += weight * seen->phase[i].fast_gbs;
        all += weight * all_of(&seen->phase[i]);
    }
    return all > 0 ? fast / all : 1;
}

void hm_loadshare_tell(const struct hm_loadshare *seen, const struct hm_load *load, double lines,
                       struct hm_heat_share *share)
{
    double last = all_of(&seen->phase[0]), now = share_of(seen), idle = hm_curve_idle_ns(&load->fast);
    double coarse = best_between(seen, load, 0, 1);
    double best = best_between(seen, load, fmax(coarse - 1.0 / STEPS, 0), fmin(coarse + 1.0 / STEPS, 1));
    double least = mean_latency(seen, load, best, 0), saves = mean_latency(seen, load, now, 0) - least;
    /* Lines move in the next phase, in which most of the moves already hold. How far these get is not known yet. */
    double halfway = (now + best) / 2;
    double delay = mean_latency(seen, load, halfway, FEW) - mean_latency(seen, load, halfway, 0);
    bool is_near = best < 1 && saves < NEAR * least;
    share->fast = best;
    share->now = last > 0 ? seen->phase[0].fast_gbs / last : -1;
    share->price = least > 0 ? lines * delay / FEW / idle : INFINITY;
    share->gain = best != now && !is_near ? saves / fabs(best - now) / idle : 0;
}
