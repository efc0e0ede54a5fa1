/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much heat belongs in the fast tier where more of it would be slower (struct hm_heat_share). Heat is only an
 * estimate of the accesses to memory (misses.h). So the share that it tells is compared with the measured one, and what
 * is wanted is corrected by the ratio of their odds.
 */
#include <math.h>

#include "extentsparts.h"

#define KEEP 0.9 /* weight that old shares keep at each phase: phases differ, the error of the estimate does not */
#define LEAST_SHARE 0.01 /* shares nearer to 0 or 1 say nothing of the ratio */

struct sums {
    double fast, all;
};

static struct sums add_up(const struct hm_extents *extents)
{
    struct sums heat = {0, 0};
    for (size_t i = 0; i < extents->base.n_extents; i++) {
        const struct hm_extent *extent = &extents->base.extent[i];
        heat.fast += extent->priority * (double)extent->tier_pages[0];
        heat.all += extent->priority * (double)(extent->tier_pages[0] + extent->tier_pages[1]);
    }
    return heat;
}

static double odds(double share)
{
    double within = fmin(fmax(share, LEAST_SHARE), 1 - LEAST_SHARE);
    return within / (1 - within);
}

void hm_extents_learn_share(const struct hm_extents *extents, struct hm_heat_share *share)
{
    struct sums heat = add_up(extents);
    if (!(share->now >= 0) || !(heat.all > 0))
        return;
    share->served = KEEP * share->served + (1 - KEEP) * share->now;
    share->told = KEEP * share->told + (1 - KEEP) * heat.fast / heat.all;
}

double hm_extents_heat_share(const struct hm_heat_share *share)
{
    double wanted = odds(share->fast) * odds(share->told) / odds(share->served);
    return share->fast < 1 ? wanted / (1 + wanted) : 1;
}

double hm_extents_heat_room(const struct hm_extents *extents, const struct hm_heat_share *share)
{
    struct sums heat = add_up(extents);
    return share->fast < 1 ? heat.all * hm_extents_heat_share(share) - heat.fast : INFINITY;
}
