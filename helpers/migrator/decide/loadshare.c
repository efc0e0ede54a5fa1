/* SPDX-License-Identifier: Apache-2.0 */
#include "loadshare.h"

#include <math.h>
#include <stdbool.h>

#define FEW 0.01   /* of the traffic: that of a few moves */
#define NEAR 0.01  /* a balance that costs at most this more than the best one stays as it is */
#define RECENT 0.6 /* weight that old traffic keeps at each phase, as old samples do (extents.c) */

void hm_loadshare_add(struct hm_loadshare *seen, double fast_gbs, double slow_gbs)
{
    seen->last_fast = fast_gbs;
    seen->last_slow = slow_gbs;
    seen->recent_fast = seen->recent_fast * RECENT + fast_gbs;
    seen->recent_slow = seen->recent_slow * RECENT + slow_gbs;
    seen->weight = seen->weight * RECENT + 1;
}

/* What it costs to read a line of one tier and to write it to the other, with the time by which that delays others. */
static double price_of_line(const struct hm_load *load, double fast, double slow)
{
    double step = FEW * (fast + slow);
    double more = hm_load_cost(load, fast + step, slow + step) - hm_load_cost(load, fast, slow);
    return step > 0 ? more / step / hm_curve_idle_ns(&load->fast) : INFINITY;
}

void hm_loadshare_tell(const struct hm_loadshare *seen, const struct hm_load *load, double lines,
                       struct hm_heat_share *share)
{
    double last = seen->last_fast + seen->last_slow, weight = seen->weight > 0 ? seen->weight : 1;
    double fast = seen->recent_fast / weight, all = fast + seen->recent_slow / weight;
    double best = hm_load_best(load, all, all), moves = fabs(best - fast);
    /* Lines move in the next phase, in which most of the moves already hold. How far these get is not known yet. */
    double halfway = (fast + best) / 2;
    double saves = hm_load_cost(load, fast, all - fast) - hm_load_cost(load, best, all - best);
    share->fast = all > 0 ? best / all : 1;
    share->now = last > 0 ? seen->last_fast / last : -1;
    share->price = lines * price_of_line(load, halfway, all - halfway);
    bool is_near = best < all && saves < NEAR * hm_load_cost(load, best, all - best);
    share->gain = moves > 0 && !is_near ? saves / moves / hm_curve_idle_ns(&load->fast) : 0;
}
