/* SPDX-License-Identifier: Apache-2.0 */
/* What extents gain between each two tiers (extentsparts.h). */
#include <math.h>
#include <stdlib.h>

#include "extentsparts.h"

/* Which part of the gain between the last tier and the first lies between these two. */
static double part_of(const double *gain, unsigned n_tiers, unsigned up, unsigned down)
{
    double all = gain[n_tiers - 1];
    return all > 0 ? (gain[down] - gain[up]) / all : 0;
}

double hm_extents_step(const struct hm_extents *extents, const struct hm_extent *extent, unsigned up, unsigned down)
{
    const struct hm_decider_options *options = &extents->base.options;
    double reads = extent->reads * extents->cells.read_weight, writes = extent->writes * extents->cells.write_weight;
    double written = reads + writes > 0 ? writes / (reads + writes) : 0;
    double read_part = part_of(options->read_gain, options->n_tiers, up, down);
    double write_part = part_of(options->write_gain, options->n_tiers, up, down);
    /* as a store is weighted where caches may serve it (extents.c) */
    if (!options->counts_memory)
        write_part = sqrt(read_part * write_part);
    return (1 - written) * read_part + written * write_part;
}

static int compare_gain(const void *a, const void *b, void *data)
{
    const double *gain = data;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return gain[x] != gain[y] ? (gain[x] > gain[y]) - (gain[x] < gain[y]) : (x > y) - (x < y);
}

void hm_extents_order(struct hm_extents *extents)
{
    size_t n = extents->base.n_extents;
    for (unsigned k = 0; k < extents->n_pairs; k++) {
        struct hm_extents_pair *pair = &extents->pair[k];
        for (size_t i = 0; i < n; i++) {
            const struct hm_extent *extent = &extents->base.extent[i];
            pair->gain[i] = extent->priority * hm_extents_step(extents, extent, pair->up, pair->down);
            pair->order[i] = (uint32_t)i;
        }
        qsort_r(pair->order, n, sizeof(*pair->order), compare_gain, pair->gain);
    }
}
