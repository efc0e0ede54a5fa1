/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default algorithm, which users know as "regions". Samples are stored by page and forgotten slowly (cells.h). A
 * multiscale estimate turns them into spans of even heat (density.h); these are the extents. The coldest extent of a
 * faster tier is exchanged for the hottest one of a slower tier as long as the gain exceeds the cost of both moves
 * (extentsplan.c, exchange.h). Only the part of the heat that is estimated to reach memory counts (misses.h). How far a
 * gain is believed depends on how far earlier gains came true (trust.h); where moves have lost, pages only go back
 * (account.h).
 */
#include <math.h>
#include <stdlib.h>

#include "extentsparts.h"
#include "misses.h"

#define CELLS 32768       /* most cells */
#define NODES (4 * CELLS) /* most nodes of the estimate: those of the cells, and those above them */
#define PENDING 16384     /* most observations that wait to be sorted into cells */
_Static_assert(PENDING * sizeof(struct hm_observation) <= CELLS * sizeof(struct hm_cell), "they are sorted in `spare`");
#define DECAY 0.6 /* weight that old samples keep at each phase: the last three phases have three quarters of all */

static struct hm_extents *extents_of(struct hm_decider *decider)
{
    return (struct hm_extents *)decider;
}

static void destroy(struct hm_decider *decider)
{
    struct hm_extents *extents = extents_of(decider);
    free(extents->cells.cell);
    free(extents->cells.spare);
    free(extents->cells.pending);
    free(extents->density.before);
    free(extents->density.differs);
    free(extents->density.stretch);
    free(extents->trust.promise);
    free(extents->account.span);
    free(extents->account.planned);
    free(extents->lifted);
    for (unsigned k = 0; k < extents->n_pairs; k++) {
        free(extents->pair[k].gain);
        free(extents->pair[k].order);
    }
    free(extents->flow);
    free(extents->kept);
    free(decider->extent);
    free(decider->move);
    free(extents);
}

/* The pairs of tiers, and what is to move between tiers. Returns false if there is no memory. */
static bool allocate_for_tiers(struct hm_extents *extents)
{
    struct hm_decider *base = &extents->base;
    size_t n = base->options.max_extents, n_tiers = base->options.n_tiers;
    bool is_whole = true;
    for (unsigned up = 0; up < n_tiers; up++)
        for (unsigned down = up + 1; down < n_tiers; down++) {
            struct hm_extents_pair *pair = &extents->pair[extents->n_pairs++];
            pair->up = up;
            pair->down = down;
            pair->gain = hm_decider_allocate(base, n, sizeof(*pair->gain));
            pair->order = hm_decider_allocate(base, n, sizeof(*pair->order));
            is_whole = is_whole && pair->gain && pair->order;
        }
    extents->flow = hm_decider_allocate(base, n * hm_extents_flows(extents), sizeof(*extents->flow));
    extents->kept = hm_decider_allocate(base, n * hm_extents_flows(extents), sizeof(*extents->kept));
    /* No tier both gets pages of an extent and gives some (extentsplan.c): so many moves at most. */
    base->move = hm_decider_allocate(base, n * (n_tiers * n_tiers / 4), sizeof(*base->move));
    return is_whole && extents->flow && extents->kept && base->move;
}

/* Returns false if there is no memory. */
static bool allocate(struct hm_extents *extents)
{
    struct hm_decider *base = &extents->base;
    size_t n = base->options.max_extents;
    extents->cells.cell = hm_decider_allocate(base, CELLS, sizeof(struct hm_cell));
    extents->cells.spare = hm_decider_allocate(base, CELLS, sizeof(struct hm_cell));
    extents->cells.pending = hm_decider_allocate(base, PENDING, sizeof(struct hm_observation));
    extents->density.before = hm_decider_allocate(base, CELLS + 1, sizeof(struct hm_density_sum));
    extents->density.differs = hm_decider_allocate(base, NODES, sizeof(float));
    extents->density.stretch = hm_decider_allocate(base, CELLS, sizeof(struct hm_stretch));
    extents->trust.promise = hm_decider_allocate(base, n, sizeof(struct hm_promise));
    extents->account.room = n;
    extents->account.span = hm_decider_allocate(base, n, sizeof(struct hm_lifted));
    extents->account.planned = hm_decider_allocate(base, n, sizeof(struct hm_lifted));
    extents->lifted = hm_decider_allocate(base, n, sizeof(*extents->lifted));
    base->extent = hm_decider_allocate(base, n, sizeof(*base->extent));
    return allocate_for_tiers(extents) && extents->cells.cell && extents->cells.spare && extents->cells.pending &&
           extents->density.before && extents->density.differs && extents->density.stretch && extents->trust.promise &&
           extents->account.span && extents->account.planned && extents->lifted && base->extent;
}

static struct hm_decider *create(const struct hm_decider_options *options)
{
    struct hm_extents *extents = calloc(1, sizeof(*extents));
    if (!extents)
        return NULL;
    extents->base.algorithm = &hm_algorithm_regions;
    extents->base.options = *options;
    extents->base.bytes = sizeof(*extents);
    extents->cells.room = CELLS;
    extents->cells.pending_room = PENDING;
    /* What is gained between the last tier and the first. Loads and stores may be served by caches: a store then counts
     * as something between a read from memory and a write to it. */
    double read_gain = options->read_gain[options->n_tiers - 1], write_gain = options->write_gain[options->n_tiers - 1];
    extents->cells.read_weight = read_gain;
    extents->cells.write_weight = options->counts_memory ? write_gain : sqrt(read_gain * write_gain);
    extents->density.cells = &extents->cells;
    extents->density.n_nodes = NODES;
    extents->density.most_apart = options->has_blocks ? CELLS / 2 : 0;
    hm_extents_begin_fine(extents);
    if (allocate(extents))
        return &extents->base;
    destroy(&extents->base);
    return NULL;
}

static void observe(struct hm_decider *decider, const struct hm_observation *observations, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (hm_observation_is_valid(&observations[i]))
            hm_cells_add(&extents_of(decider)->cells, &observations[i]);
        else
            decider->dropped++;
    }
}

static void forget(struct hm_decider *decider, const struct hm_gone *gone, size_t n)
{
    hm_cells_sort_in(&extents_of(decider)->cells);
    hm_cells_forget(&extents_of(decider)->cells, gone, n);
    hm_account_forget(&extents_of(decider)->account, gone, n);
}

static double class_of(const struct hm_extents *extents, double heat)
{
    return heat > 0 ? floor(log2(heat) * extents->classes) : -INFINITY;
}

/* Adds an extent. Returns NULL if there is no room. */
static struct hm_extent *new_extent(struct hm_extents *extents, uint64_t first, uint64_t n_pages)
{
    struct hm_decider *base = &extents->base;
    if (base->n_extents == base->options.max_extents) {
        extents->is_full = true;
        return NULL;
    }
    struct hm_extent *extent = &base->extent[base->n_extents++];
    *extent = (struct hm_extent){.first = first, .n_pages = n_pages, .phases = extents->n_phases};
    return extent;
}

/*
 * Adds an extent without heat from the end of the last one to `end`, as memory without any sample may be there. No
 * extent reaches over the end of a space (the page numbers of one process), and a space without any sample gets none.
 */
static void fill_hole(struct hm_extents *extents, uint64_t end)
{
    const uint64_t space = UINT64_C(1) << HM_PAGE_BITS;
    if (extents->skips_holes)
        extents->reached = end;
    if (extents->reached / space != end / space && extents->reached % space != 0) {
        uint64_t border = (extents->reached / space + 1) * space;
        new_extent(extents, extents->reached, border - extents->reached);
        extents->reached = border;
    }
    if (extents->reached / space != end / space)
        extents->reached = end / space * space;
    if (end > extents->reached)
        new_extent(extents, extents->reached, end - extents->reached);
    extents->reached = end;
}

/*
 * Makes an extent of a span, or adds the span to the last extent. Until end_phase() sets them, `priority` is the heat
 * per page, and `noise` the variance of what was counted.
 */
static void add_span(void *data, const struct hm_span *span)
{
    struct hm_extents *extents = data;
    struct hm_decider *base = &extents->base;
    fill_hole(extents, span->first);
    if (extents->is_full) /* the heat of what follows is none of the last extent's */
        return;
    struct hm_extent *last = base->n_extents > 0 ? &base->extent[base->n_extents - 1] : NULL;
    if (!last || last->first + last->n_pages != span->first ||
        HM_PAGE_SPACE(last->first) != HM_PAGE_SPACE(span->first) ||
        class_of(extents, last->priority) != class_of(extents, span->heat))
        last = new_extent(extents, span->first, 0);
    if (!last)
        return;
    double pages = (double)span->n_pages, expected = span->heat * pages / extents->weight;
    last->priority = (last->priority * (double)last->n_pages + span->heat * pages) / ((double)last->n_pages + pages);
    last->n_pages += span->n_pages;
    if (extents->cells.read_weight > 0)
        last->reads += expected * (1 - span->write_share) / extents->cells.read_weight;
    if (extents->cells.write_weight > 0)
        last->writes += expected * span->write_share / extents->cells.write_weight;
    last->noise += span->variance;
    extents->reached = span->first + span->n_pages;
}

/* Makes the extents; if there are too many, again and more coarsely. */
static void estimate(struct hm_extents *extents)
{
    struct hm_fineness before;
    bool is_finer = hm_extents_refine(extents, &before);
    do {
        extents->base.n_extents = 0;
        extents->is_full = false;
        extents->reached = 0;
        hm_density_estimate(&extents->density, add_span, extents);
        if (extents->reached > 0)
            fill_hole(extents, HM_PAGE(HM_PAGE_SPACE(extents->reached - 1) + 1, 0));
    } while (extents->is_full && hm_extents_coarsen(extents));
    if (is_finer)
        hm_extents_learn_fine(extents, &before);
}

double hm_extents_heat(const struct hm_extents *extents, const struct hm_extent *extent)
{
    return (extent->reads * extents->cells.read_weight + extent->writes * extents->cells.write_weight) /
           (double)extent->n_pages;
}

/* The mean heat of all pages that have any. */
static double mean_heat(const struct hm_extents *extents)
{
    double sum = 0, pages = 0;
    for (size_t i = 0; i < extents->base.n_extents; i++) {
        const struct hm_extent *extent = &extents->base.extent[i];
        double heat = hm_extents_heat(extents, extent);
        sum += heat * (double)extent->n_pages;
        pages += heat > 0 ? (double)extent->n_pages : 0;
    }
    return pages > 0 ? sum / pages : 0;
}

static void end_phase(struct hm_decider *decider)
{
    struct hm_extents *extents = extents_of(decider);
    const struct hm_decider_options *options = &decider->options;
    hm_cells_sort_in(&extents->cells);
    double missed = hm_trust_see(&extents->trust, &extents->cells);
    hm_account_see(&extents->account, &extents->cells, missed);
    hm_cells_age(&extents->cells, DECAY);
    extents->weight = extents->weight * DECAY + 1;
    extents->n_phases++;
    extents->is_tried = false;
    estimate(extents);
    double mean = mean_heat(extents);
    for (size_t i = 0; i < decider->n_extents; i++) {
        struct hm_extent *extent = &decider->extent[i];
        double heat = hm_extents_heat(extents, extent);
        extent->priority = heat * options->period * (options->counts_memory ? 1 : hm_misses_per_access(heat, mean));
        extent->noise = sqrt(extent->noise) / extents->weight;
    }
}

static double belief(const struct hm_decider *decider)
{
    return hm_trust_factor(&((const struct hm_extents *)decider)->trust);
}

const struct hm_algorithm hm_algorithm_regions = {
    .name = "regions",
    .about = "regions that split where heat differs, moved where that surely pays",
    .knows_many_tiers = true,
    .create = create,
    .destroy = destroy,
    .observe = observe,
    .forget = forget,
    .end_phase = end_phase,
    .plan = hm_extents_plan,
    .belief = belief,
};
