/* SPDX-License-Identifier: Apache-2.0 */
#include "reckon.h"

#include <math.h>
#include <stdlib.h>

static int compare_first(const void *page, const void *entry)
{
    uint64_t first = *(const uint64_t *)page;
    const struct hm_extent *extent = entry;
    return (first > extent->first) - (first < extent->first);
}

/* How long a mean access to the extent takes in a tier, in reads from the fast one. */
static double latency(const struct hm_extent *extent, const struct hm_reckon_tiers *tiers, unsigned tier)
{
    double all = extent->reads + extent->writes, written = all > 0 ? extent->writes / all : 0;
    return (1 - written) * tiers->read[tier] + written * tiers->write[tier];
}

/* How long the accesses to a page of the extent take in a tier, in the unit of its priority. */
static double page_wait(const struct hm_extent *extent, const struct hm_reckon_tiers *tiers, unsigned tier)
{
    double extra = latency(extent, tiers, tiers->n - 1) - 1;
    return extra > 0 ? extent->priority * latency(extent, tiers, tier) / extra : 0;
}

double hm_reckon_gain(const struct hm_extent *extents, size_t count, const struct hm_move *moves, size_t n_moves,
                      const struct hm_reckon_tiers *tiers)
{
    double waits = 0, gain = 0;
    for (size_t i = 0; i < count; i++)
        for (unsigned tier = 0; tier < tiers->n; tier++)
            waits += (double)extents[i].tier_pages[tier] * page_wait(&extents[i], tiers, tier);
    for (size_t i = 0; i < n_moves; i++) {
        const struct hm_extent *extent =
            count > 0 ? bsearch(&moves[i].first, extents, count, sizeof(*extents), compare_first) : NULL;
        if (extent && extent->verdict != HM_VERDICT_CAP)
            gain += (double)moves[i].limit *
                    (page_wait(extent, tiers, moves[i].from) - page_wait(extent, tiers, moves[i].to));
    }
    return gain > 0 && waits > 0 ? fmin(gain / waits, 1) : 0;
}

double hm_reckon_use_s(double left_s, double ran_s, double phase_s)
{
    return fmin(left_s, fmin(ran_s, HM_PLACEMENT_PHASES * phase_s));
}
