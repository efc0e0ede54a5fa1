/* SPDX-License-Identifier: Apache-2.0 */
#include "reckon.h"

#include <math.h>

/* The extent that begins with this page; NULL: there is none. */
static const struct hm_extent *find(const struct hm_extent *extents, size_t count, uint64_t first)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (extents[middle].first < first)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && extents[low].first == first ? &extents[low] : NULL;
}

double hm_reckon_gain(const struct hm_extent *extents, size_t count, const struct hm_move *moves, size_t n_moves,
                      const double *latency, unsigned n_tiers)
{
    double waits = 0, gain = 0, most = latency[n_tiers - 1] - 1;
    if (!(most > 0))
        return 0;
    for (size_t i = 0; i < count; i++)
        for (unsigned tier = 0; tier < n_tiers; tier++)
            waits += extents[i].priority * (double)extents[i].tier_pages[tier] * latency[tier] / most;
    for (size_t i = 0; i < n_moves; i++) {
        const struct hm_extent *extent = find(extents, count, moves[i].first);
        if (extent && extent->verdict != HM_VERDICT_CAP)
            gain += extent->priority * (double)moves[i].limit * (latency[moves[i].from] - latency[moves[i].to]) / most;
    }
    return gain > 0 && waits > 0 ? fmin(gain / waits, 1) : 0;
}

double hm_reckon_use_s(double left_s, double ran_s, double phase_s)
{
    return fmin(left_s, fmin(ran_s, HM_PLACEMENT_PHASES * phase_s));
}
