/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions that split where heat differs and merge where it does not. All samples of the past count, older ones less,
 * and hardly at all where a region's heat has changed; how densely each part of the addresses is sampled comes from
 * segments.h, and neighbours of like heat are one region. Regions cover all addresses of each process: what was never
 * sampled is known to be cold.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "regionspart.h"

#define CELLS_PER_REGION 20  /* memory: 6 MiB for 1000 regions, most of it segments */
#define SAMPLED_PER_REGION 8 /* taken in at once: sorting them is the larger part of the work */
#define OLD_WEIGHT 0.8F      /* of a phase in the next one: a sample counts for five phases */
#define CHANGED_LOSS 12 /* e^12: odds of a change against the chance that one of thousands of regions looks like it */
#define CHANGED_PHASES 0.5F /* what was before a change counts as half a phase: the new phase wins, noise does not */
#define STEPS_PER_OCTAVE 4  /* neighbours within a quarter of a doubling of gain are one region */
#define COARSEST_STEPS 0.01 /* fewer than that: all is one step */

static struct hm_regions *regions_of(struct hm_decider *decider)
{
    return (struct hm_regions *)decider;
}

static void destroy(struct hm_decider *decider)
{
    struct hm_regions *regions = regions_of(decider);
    free(regions->evidence.cell);
    free(regions->evidence.spare);
    free(regions->evidence.sampled);
    free(regions->segment);
    free(regions->past);
    free(regions->support);
    free(regions->weight);
    free(regions->order);
    free(regions->amount);
    free(decider->region);
    free(decider->move);
    free(regions);
}

static struct hm_decider *create(const struct hm_decider_options *options)
{
    struct hm_regions *regions = calloc(1, sizeof(*regions));
    if (!regions)
        return NULL;
    struct hm_decider *base = &regions->base;
    struct hm_evidence *evidence = &regions->evidence;
    size_t n = options->max_regions;
    base->algorithm = &hm_algorithm_regions;
    base->options = *options;
    base->bytes = sizeof(*regions);
    evidence->most_cells = n * CELLS_PER_REGION;
    evidence->room = n * SAMPLED_PER_REGION;
    size_t n_cells = evidence->most_cells + evidence->room;
    base->region = hm_decider_allocate(base, n, sizeof(*base->region));
    base->move = hm_decider_allocate(base, 2 * n, sizeof(*base->move));
    evidence->cell = hm_decider_allocate(base, n_cells, sizeof(*evidence->cell));
    evidence->spare = hm_decider_allocate(base, n_cells, sizeof(*evidence->spare));
    evidence->sampled = hm_decider_allocate(base, evidence->room, sizeof(*evidence->sampled));
    /* Of one process at a time: each cell, what is between them, and the joins. */
    regions->segment = hm_decider_allocate(base, 4 * evidence->most_cells + 2, sizeof(*regions->segment));
    regions->past = hm_decider_allocate(base, n, sizeof(*regions->past));
    regions->support = hm_decider_allocate(base, n, sizeof(*regions->support));
    regions->weight = hm_decider_allocate(base, n, sizeof(*regions->weight));
    regions->order = hm_decider_allocate(base, n, sizeof(*regions->order));
    regions->amount = hm_decider_allocate(base, n, sizeof(*regions->amount));
    if (base->region && base->move && evidence->cell && evidence->spare && evidence->sampled && regions->segment &&
        regions->past && regions->support && regions->weight && regions->order && regions->amount)
        return base;
    destroy(base);
    return NULL;
}

static void observe(struct hm_decider *decider, const struct hm_observation *observations, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (hm_observation_is_valid(&observations[i]))
            hm_evidence_add(&regions_of(decider)->evidence, &observations[i]);
}

static void forget(struct hm_decider *decider, uint64_t first, uint64_t n_pages)
{
    hm_evidence_forget(&regions_of(decider)->evidence, first, HM_PAGE_END(first, n_pages));
}

/* Remember the regions' borders and weights before they are made anew. */
static void keep_past(struct hm_regions *regions)
{
    regions->n_past = regions->base.n_regions;
    for (size_t i = 0; i < regions->n_past; i++) {
        const struct hm_region *region = &regions->base.region[i];
        regions->past[i] = (struct hm_past){
            .first = region->first, .end = HM_PAGE_END(region->first, region->n_pages), .weight = regions->weight[i]};
    }
}

/* Weight of what is known of a page from before this phase: 0 for what was in no region. */
static float past_weight(const struct hm_regions *regions, uint64_t page)
{
    size_t low = 0, high = regions->n_past;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (regions->past[middle].first <= page)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && page < regions->past[low - 1].end ? regions->past[low - 1].weight : 0;
}

/* The phase's samples become part of the cells' evidence, whose own weight is multiplied by `keep`. */
static void add_phase(struct hm_cell *cell, size_t n, float weight, float keep)
{
    for (size_t i = 0; i < n; i++) {
        cell[i].reads = keep * cell[i].reads + cell[i].new_reads;
        cell[i].writes = keep * cell[i].writes + cell[i].new_writes;
        cell[i].new_reads = cell[i].new_writes = 0;
        cell[i].weight = keep * weight + 1;
    }
}

/* Has a region's heat changed in this phase? Then what was before hardly counts. */
static float how_much_to_keep(const struct hm_cell *cell, size_t n, float weight)
{
    double old_reads = 0, old_writes = 0, reads = 0, writes = 0;
    for (size_t i = 0; i < n; i++) {
        old_reads += cell[i].reads;
        old_writes += cell[i].writes;
        reads += cell[i].new_reads;
        writes += cell[i].new_writes;
    }
    double loss = hm_segments_loss(old_reads, weight, reads, 1) + hm_segments_loss(old_writes, weight, writes, 1);
    return loss > CHANGED_LOSS && weight > CHANGED_PHASES ? CHANGED_PHASES / weight : OLD_WEIGHT;
}

static void weigh_past(struct hm_regions *regions)
{
    struct hm_evidence *evidence = &regions->evidence;
    size_t at = 0;
    for (size_t i = 0; i < regions->n_past; i++) {
        struct hm_past *past = &regions->past[i];
        size_t first = at;
        for (; first < evidence->n_cells && evidence->cell[first].key << evidence->shift < past->first; first++)
            ;
        add_phase(evidence->cell + at, first - at, 0, 0); /* in no region so far */
        for (at = first; at < evidence->n_cells && evidence->cell[at].key << evidence->shift < past->end; at++)
            ;
        float keep = how_much_to_keep(evidence->cell + first, at - first, past->weight);
        add_phase(evidence->cell + first, at - first, past->weight, keep);
        past->weight = keep * past->weight + 1;
    }
    add_phase(evidence->cell + at, evidence->n_cells - at, 0, 0);
}

static void add_gap(struct hm_regions *regions, uint64_t first, uint64_t end)
{
    if (first >= end)
        return;
    float weight = past_weight(regions, first + (end - first) / 2);
    regions->segment[regions->n_segments++] = (struct hm_segment){
        .first = first, .n_pages = end - first, .exposure = (double)(end - first) * (weight > 0 ? weight : 1)};
}

/* The segments of the process whose cells start at `at`. Returns the first cell of the next one. */
static size_t list_segments(struct hm_regions *regions, size_t at)
{
    const struct hm_evidence *evidence = &regions->evidence;
    uint64_t size = UINT64_C(1) << evidence->shift;
    uint32_t space = HM_PAGE_SPACE(evidence->cell[at].key << evidence->shift);
    uint64_t end = HM_PAGE(space, UINT64_C(0));
    regions->n_segments = 0;
    for (; at < evidence->n_cells; at++) {
        const struct hm_cell *cell = &evidence->cell[at];
        uint64_t first = cell->key << evidence->shift;
        if (HM_PAGE_SPACE(first) != space)
            break;
        add_gap(regions, end, first);
        regions->segment[regions->n_segments++] = (struct hm_segment){.first = first,
                                                                      .n_pages = size,
                                                                      .exposure = (double)size * cell->weight,
                                                                      .reads = cell->reads,
                                                                      .writes = cell->writes};
        end = first + size;
    }
    add_gap(regions, end, HM_PAGE(space, UINT64_C(0)) + (UINT64_C(1) << HM_PAGE_BITS));
    return at;
}

/* Number of the step of gain: what is on one step is one region. */
static int step_of(double gain, double steps_per_octave)
{
    int exponent;
    if (gain < 1 || steps_per_octave < COARSEST_STEPS) /* not one access per phase: never worth a move */
        return 0;
    double m = frexp(gain, &exponent);
    return 1 + (int)((exponent + hm_segments_log(m) / hm_segments_log(2)) * steps_per_octave);
}

/* Make regions of the segments, `first` being the first one of this process. Returns false where they are too many. */
static bool make_regions(struct hm_regions *regions, size_t first, size_t n_parts, double steps_per_octave)
{
    struct hm_decider *base = &regions->base;
    int last_step = -1;
    base->n_regions = first;
    for (size_t i = 0; i < n_parts; i++) {
        const struct hm_segment *part = &regions->segment[i];
        double pages = (double)part->n_pages;
        int step = step_of(hm_regions_gain(&base->options, part->read_density, part->write_density), steps_per_octave);
        if (base->n_regions == first || step != last_step) {
            if (base->n_regions == base->options.max_regions)
                return false;
            base->region[base->n_regions] = (struct hm_region){.first = part->first};
            regions->support[base->n_regions] = regions->weight[base->n_regions] = 0;
            base->n_regions++;
        }
        struct hm_region *region = &base->region[base->n_regions - 1];
        size_t at = base->n_regions - 1;
        last_step = step;
        region->n_pages += part->n_pages;
        region->reads += part->read_density * pages;
        region->writes += part->write_density * pages;
        double share = pages / (double)region->n_pages; /* means over the pages */
        regions->support[at] += (float)(share * (part->support - regions->support[at]));
        regions->weight[at] += (float)(share * (part->exposure / pages - regions->weight[at]));
    }
    return true;
}

static void fill_in(struct hm_regions *regions)
{
    for (size_t i = 0; i < regions->base.n_regions; i++) {
        struct hm_region *region = &regions->base.region[i];
        double pages = (double)region->n_pages;
        region->phases = (unsigned)(regions->weight[i] + 0.5F);
        region->noise = (region->reads + region->writes) / sqrt(regions->support[i] + 1);
        region->priority = hm_regions_gain(&regions->base.options, region->reads / pages, region->writes / pages);
    }
}

static void end_phase(struct hm_decider *decider)
{
    struct hm_regions *regions = regions_of(decider);
    hm_evidence_absorb(&regions->evidence);
    keep_past(regions);
    weigh_past(regions);
    hm_evidence_tidy(&regions->evidence);
    decider->n_regions = 0;
    for (size_t at = 0; at < regions->evidence.n_cells;) {
        size_t first = decider->n_regions;
        size_t next = list_segments(regions, at), n_parts = regions->n_segments;
        if (first == decider->options.max_regions) {
            decider->dropped += next - at;
            at = next;
            continue;
        }
        hm_segments_estimate(regions->segment, n_parts);
        /* One step for all is one region, for which there is room. */
        for (double steps = STEPS_PER_OCTAVE; !make_regions(regions, first, n_parts, steps); steps /= 2)
            ;
        at = next;
    }
    fill_in(regions);
}

const struct hm_algorithm hm_algorithm_regions = {
    .name = "regions",
    .about = "regions that split where heat differs, moved where it surely pays",
    .create = create,
    .destroy = destroy,
    .observe = observe,
    .forget = forget,
    .end_phase = end_phase,
    .plan = hm_regions_plan,
};
