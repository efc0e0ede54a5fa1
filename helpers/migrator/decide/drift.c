/* SPDX-License-Identifier: Apache-2.0 */
#include "drift.h"

#include <math.h>

#define FADE 0.6        /* weight that old sums keep at each phase, as in trust.c */
#define FIRST_GAIN 0.4  /* before anything is known; it counts as one extent whose samples differ by chance */
#define LEAST_DECAY 0.1 /* some of the old samples stay, to compare the next phase with */
#define MOST_DECAY 0.9  /* a program may change at any time: nothing is kept for much more than ten phases */

/* the samples of an extent, by phase */
struct samples {
    double old, last, now; /* `old` are those of all phases before this one, `last` those of the last of them */
};

/* Adds up the cells of an extent; *at is the first cell that may be in it, and becomes that for the next extent. */
static struct samples add_up(const struct hm_cells *cells, size_t *at, const struct hm_extent *extent)
{
    struct samples sum = {0, 0, 0};
    uint64_t end = HM_PAGE_END(extent->first, extent->n_pages);
    while (*at < cells->n && cells->cell[*at].first < extent->first)
        ++*at;
    for (; *at < cells->n && cells->cell[*at].first < end; ++*at) {
        const struct hm_cell *cell = &cells->cell[*at];
        sum.old += hm_cells_weigh(cells, cell->reads, cell->writes);
        sum.last += (double)cell->last;
        sum.now += hm_cells_weigh(cells, cell->new_reads, cell->new_writes);
    }
    return sum;
}

void hm_drift_see(struct hm_drift *drift, const struct hm_cells *cells, const struct hm_extent *extent,
                  size_t n_extents, double weight)
{
    drift->squares *= FADE;
    drift->products *= FADE;
    if (weight <= 1) /* there was only one phase before this one */
        return;
    for (size_t i = 0, at = 0; i < n_extents; i++) {
        struct samples sum = add_up(cells, &at, &extent[i]);
        double mean = fmax(sum.old - sum.last, 0) / (weight - 1);
        double difference = sum.last - mean, chance = sum.last + mean + 1;
        drift->squares += difference * difference / chance;
        drift->products += difference * (sum.now - mean) / chance;
    }
}

double hm_drift_decay(const struct hm_drift *drift, double weight)
{
    double gain = (drift->products + FIRST_GAIN) / (drift->squares + 1);
    /* With this factor, the new phase has the share `gain` of all weight. */
    double decay = gain > 0 ? (1 / gain - 1) / weight : MOST_DECAY;
    return fmin(fmax(decay, LEAST_DECAY), MOST_DECAY);
}
