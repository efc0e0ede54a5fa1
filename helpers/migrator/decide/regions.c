/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default algorithm. Samples are kept by page and forgotten slowly (cells.h); a multiscale estimate turns them into
 * spans of even heat (density.h), which are the regions. The coldest fast region makes room for the hottest slow one as
 * long as the gain exceeds the cost of both moves (regionsplan.c). Of the heat, only what is thought to reach memory
 * counts (misses.h). How much a gain is believed depends on what became of earlier ones (trust.h).
 */
#include <math.h>
#include <stdlib.h>

#include "misses.h"
#include "regionparts.h"

#define CELLS 32768
#define NODES (4 * CELLS) /* of the estimate: some for each cell, and those above */
#define PENDING 16384
#define DECAY 0.6 /* of samples, by phase: the last three phases weigh three quarters */
#define FINEST_CLASSES 4.0
#define COARSEST_CLASSES 0.01

static struct hm_regions *regions_of(struct hm_decider *decider)
{
    return (struct hm_regions *)decider;
}

static void destroy(struct hm_decider *decider)
{
    struct hm_regions *regions = regions_of(decider);
    free(regions->cells.cell);
    free(regions->cells.spare);
    free(regions->cells.pending);
    free(regions->density.before);
    free(regions->density.differs);
    free(regions->density.stretch);
    free(regions->trust.promise);
    free(regions->order);
    free(regions->amount);
    free(decider->region);
    free(decider->move);
    free(regions);
}

/* Returns false without memory. */
static bool allocate(struct hm_regions *regions)
{
    struct hm_decider *base = &regions->base;
    size_t n = base->options.max_regions;
    regions->cells.cell = hm_decider_allocate(base, CELLS, sizeof(struct hm_cell));
    regions->cells.spare = hm_decider_allocate(base, CELLS, sizeof(struct hm_cell));
    regions->cells.pending = hm_decider_allocate(base, PENDING, sizeof(struct hm_observation));
    regions->density.before = hm_decider_allocate(base, CELLS + 1, sizeof(struct hm_density_sum));
    regions->density.differs = hm_decider_allocate(base, NODES, sizeof(float));
    regions->density.stretch = hm_decider_allocate(base, CELLS, sizeof(struct hm_stretch));
    regions->trust.promise = hm_decider_allocate(base, n, sizeof(struct hm_promise));
    regions->order = hm_decider_allocate(base, n, sizeof(*regions->order));
    regions->amount = hm_decider_allocate(base, n, sizeof(*regions->amount));
    base->region = hm_decider_allocate(base, n, sizeof(*base->region));
    base->move = hm_decider_allocate(base, n, sizeof(*base->move));
    return regions->cells.cell && regions->cells.spare && regions->cells.pending && regions->density.before &&
           regions->density.differs && regions->density.stretch && regions->trust.promise && regions->order &&
           regions->amount && base->region && base->move;
}

static struct hm_decider *create(const struct hm_decider_options *options)
{
    struct hm_regions *regions = calloc(1, sizeof(*regions));
    if (!regions)
        return NULL;
    regions->base.algorithm = &hm_algorithm_regions;
    regions->base.options = *options;
    regions->base.bytes = sizeof(*regions);
    regions->cells.room = CELLS;
    regions->cells.pending_room = PENDING;
    regions->cells.read_weight = options->read_gain;
    /* Loads and stores may both be of lines that are in a cache: a store counts in between what a read and what a write
     * to memory costs. */
    regions->cells.write_weight =
        options->counts_memory ? options->write_gain : sqrt(options->read_gain * options->write_gain);
    regions->density.cells = &regions->cells;
    regions->density.n_nodes = NODES;
    regions->classes = FINEST_CLASSES;
    if (allocate(regions))
        return &regions->base;
    destroy(&regions->base);
    return NULL;
}

static void observe(struct hm_decider *decider, const struct hm_observation *observations, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (hm_observation_is_valid(&observations[i]))
            hm_cells_add(&regions_of(decider)->cells, &observations[i]);
        else
            decider->dropped++;
    }
}

static void forget(struct hm_decider *decider, uint64_t first, uint64_t n_pages)
{
    hm_cells_sort_in(&regions_of(decider)->cells);
    hm_cells_forget(&regions_of(decider)->cells, first, HM_PAGE_END(first, n_pages));
}

static double class_of(const struct hm_regions *regions, double heat)
{
    return heat > 0 ? floor(log2(heat) * regions->classes) : -INFINITY;
}

/* Room for one more region, or NULL. */
static struct hm_region *new_region(struct hm_regions *regions, uint64_t first, uint64_t n_pages)
{
    struct hm_decider *base = &regions->base;
    if (base->n_regions == base->options.max_regions) {
        regions->is_full = true;
        return NULL;
    }
    struct hm_region *region = &base->region[base->n_regions++];
    *region = (struct hm_region){.first = first, .n_pages = n_pages, .phases = regions->n_phases};
    return region;
}

/* Where nothing was sampled there may be memory all the same: a region without heat, from where the last one ended to
 * `end`, cut where a process's pages end. */
static void fill_hole(struct hm_regions *regions, uint64_t end)
{
    const uint64_t space = UINT64_C(1) << HM_PAGE_BITS;
    /* Whole spaces without any sample are no process's. */
    if (regions->reached / space != end / space && regions->reached % space != 0) {
        uint64_t border = (regions->reached / space + 1) * space;
        new_region(regions, regions->reached, border - regions->reached);
        regions->reached = border;
    }
    if (regions->reached / space != end / space)
        regions->reached = end / space * space;
    if (end > regions->reached)
        new_region(regions, regions->reached, end - regions->reached);
    regions->reached = end;
}

/* A span becomes a region, or part of the one before it. Until all are there, `priority` is heat per page and `noise`
 * the variance of what was counted. */
static void add_span(void *data, const struct hm_span *span)
{
    struct hm_regions *regions = data;
    struct hm_decider *base = &regions->base;
    fill_hole(regions, span->first);
    struct hm_region *last = base->n_regions > 0 ? &base->region[base->n_regions - 1] : NULL;
    if (!last || HM_PAGE_SPACE(last->first) != HM_PAGE_SPACE(span->first) ||
        class_of(regions, last->priority) != class_of(regions, span->heat))
        last = new_region(regions, span->first, 0);
    if (!last)
        return;
    double pages = (double)span->n_pages, expected = span->heat * pages / regions->weight;
    last->priority = (last->priority * (double)last->n_pages + span->heat * pages) / ((double)last->n_pages + pages);
    last->n_pages += span->n_pages;
    if (regions->cells.read_weight > 0)
        last->reads += expected * (1 - span->write_share) / regions->cells.read_weight;
    if (regions->cells.write_weight > 0)
        last->writes += expected * span->write_share / regions->cells.write_weight;
    last->noise += span->variance;
    regions->reached = span->first + span->n_pages;
}

static void estimate(struct hm_regions *regions)
{
    do {
        if (regions->is_full)
            regions->classes /= 2;
        regions->base.n_regions = 0;
        regions->is_full = false;
        regions->reached = 0;
        hm_density_estimate(&regions->density, add_span, regions);
        if (regions->reached > 0)
            fill_hole(regions, HM_PAGE(HM_PAGE_SPACE(regions->reached - 1) + 1, 0));
    } while (regions->is_full && regions->classes > COARSEST_CLASSES);
}

double hm_regions_heat(const struct hm_regions *regions, const struct hm_region *region)
{
    return (region->reads * regions->cells.read_weight + region->writes * regions->cells.write_weight) /
           (double)region->n_pages;
}

/* Of all pages with any. */
static double mean_heat(const struct hm_regions *regions)
{
    double sum = 0, pages = 0;
    for (size_t i = 0; i < regions->base.n_regions; i++) {
        const struct hm_region *region = &regions->base.region[i];
        double heat = hm_regions_heat(regions, region);
        sum += heat * (double)region->n_pages;
        pages += heat > 0 ? (double)region->n_pages : 0;
    }
    return pages > 0 ? sum / pages : 0;
}

static void end_phase(struct hm_decider *decider)
{
    struct hm_regions *regions = regions_of(decider);
    const struct hm_decider_options *options = &decider->options;
    hm_cells_sort_in(&regions->cells);
    hm_trust_see(&regions->trust, &regions->cells);
    hm_cells_age(&regions->cells, DECAY);
    regions->weight = regions->weight * DECAY + 1;
    regions->n_phases++;
    estimate(regions);
    double mean = mean_heat(regions);
    for (size_t i = 0; i < decider->n_regions; i++) {
        struct hm_region *region = &decider->region[i];
        double heat = hm_regions_heat(regions, region);
        region->priority = heat * options->period * (options->counts_memory ? 1 : hm_misses_per_access(heat, mean));
        region->noise = sqrt(region->noise) / regions->weight;
    }
}

const struct hm_algorithm hm_algorithm_regions = {
    .name = "regions",
    .about = "regions that split where heat differs, moved where that surely pays",
    .create = create,
    .destroy = destroy,
    .observe = observe,
    .forget = forget,
    .end_phase = end_phase,
    .plan = hm_regions_plan,
};
