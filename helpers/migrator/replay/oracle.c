/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placements without sampling, for comparison: first touch, which knows nothing of the accesses, and two oracles, which
 * know them all.
 */
#include <errno.h>
#include <stdlib.h>

#include "placement.h"
#include "transport.h"

struct ranked {
    uint64_t heat;
    uint32_t page;
    uint8_t tier;
    bool is_new;
};

/* Hottest first; of equally hot pages, those in faster tiers first, then by address. */
static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->heat != y->heat)
        return x->heat > y->heat ? -1 : 1;
    if (x->tier != y->tier)
        return x->tier < y->tier ? -1 : 1;
    return (x->page > y->page) - (x->page < y->page);
}

static void add_heat(const struct hm_trace *trace, size_t phase, struct ranked *ranked)
{
    const struct hm_trace_row *row = trace->row + trace->phase[phase].first;
    for (size_t i = 0; i < trace->phase[phase].count; i++)
        ranked[row[i].page].heat += (uint64_t)row[i].mem_reads + row[i].mem_writes;
}

/* buffers of an oracle */
struct oracle {
    struct hm_placement placement;
    struct ranked *ranked; /* by page while heat is added; then the hottest first */
};

/* Returns 0, or -1 (ENOMEM). */
static int begin_oracle(struct oracle *oracle, const struct hm_trace *trace, const struct hm_replay_options *options)
{
    oracle->ranked = calloc(trace->n_pages, sizeof(*oracle->ranked));
    if (oracle->ranked && hm_placement_init(&oracle->placement, trace, options) == 0)
        return 0;
    free(oracle->ranked);
    errno = ENOMEM;
    return -1;
}

static struct hm_score end_oracle(struct oracle *oracle)
{
    struct hm_score score = hm_placement_score(&oracle->placement);
    hm_placement_free(&oracle->placement);
    free(oracle->ranked);
    return score;
}

/* The tier of the page that so many are hotter than. */
static unsigned tier_of_rank(const struct hm_placement *placement, size_t rank)
{
    unsigned tier = 0;
    for (; tier + 1 < placement->options->n_tiers && rank >= placement->capacity[tier]; tier++)
        rank -= placement->capacity[tier];
    return tier;
}

int hm_replay_first_touch(const struct hm_trace *trace, const struct hm_replay_options *options, struct hm_score *score)
{
    struct hm_placement placement;
    if (hm_placement_init(&placement, trace, options) < 0)
        return -1;
    for (size_t phase = 0; phase < trace->n_phases; phase++) {
        hm_placement_touch(&placement, phase);
        hm_placement_serve(&placement, phase);
    }
    *score = hm_placement_score(&placement);
    hm_placement_free(&placement);
    return 0;
}

int hm_replay_static_oracle(const struct hm_trace *trace, const struct hm_replay_options *options,
                            struct hm_score *score)
{
    struct oracle oracle;
    if (begin_oracle(&oracle, trace, options) < 0)
        return -1;
    for (size_t page = 0; page < trace->n_pages; page++)
        oracle.ranked[page].page = (uint32_t)page;
    for (size_t phase = 0; phase < trace->n_phases; phase++)
        add_heat(trace, phase, oracle.ranked);
    qsort(oracle.ranked, trace->n_pages, sizeof(*oracle.ranked), compare_ranked);
    for (size_t i = 0; i < trace->n_pages; i++)
        oracle.placement.tier[oracle.ranked[i].page] = (uint8_t)tier_of_rank(&oracle.placement, i);
    for (size_t phase = 0; phase < trace->n_phases; phase++)
        hm_placement_serve(&oracle.placement, phase);
    *score = end_oracle(&oracle);
    return 0;
}

/* Adds up the accesses of each page over all phases. */
static void add_up(const struct hm_trace *trace, uint64_t *reads, uint64_t *writes)
{
    for (size_t i = 0; i < trace->n_rows; i++) {
        reads[trace->row[i].page] += trace->row[i].mem_reads;
        writes[trace->row[i].page] += trace->row[i].mem_writes;
    }
}

int hm_replay_least_cost(const struct hm_trace *trace, const struct hm_replay_options *options, struct hm_score *score)
{
    struct hm_placement placement;
    uint64_t *counts = calloc(2 * trace->n_pages + 1, sizeof(*counts));
    struct hm_transport transport = {
        .n_pages = trace->n_pages, .reads = counts, .writes = counts + trace->n_pages, .n_tiers = options->n_tiers};
    if (!counts || hm_placement_init(&placement, trace, options) < 0) {
        free(counts);
        errno = ENOMEM;
        return -1;
    }
    for (unsigned tier = 0; tier < options->n_tiers; tier++) {
        transport.read[tier] = options->tier[tier].read;
        transport.write[tier] = options->tier[tier].write;
        transport.capacity[tier] = placement.capacity[tier];
    }
    add_up(trace, counts, counts + trace->n_pages);
    int result = hm_transport_solve(&transport, placement.tier);
    for (size_t phase = 0; phase < trace->n_phases && result == 0; phase++)
        hm_placement_serve(&placement, phase);
    *score = hm_placement_score(&placement);
    hm_placement_free(&placement);
    free(counts);
    return result;
}

/*
 * Fills the tiers with the hottest pages of a phase. A page that is touched for the first time is placed in its tier
 * without a move.
 */
static void place_hottest(struct hm_placement *placement, size_t phase, struct ranked *ranked)
{
    const struct hm_trace *trace = placement->trace;
    for (size_t page = 0; page < trace->n_pages; page++)
        ranked[page] = (struct ranked){
            .page = (uint32_t)page, .tier = placement->tier[page], .is_new = !placement->is_present[page]};
    add_heat(trace, phase, ranked);
    hm_placement_touch(placement, phase);
    qsort(ranked, trace->n_pages, sizeof(*ranked), compare_ranked);
    for (size_t i = 0; i < trace->n_pages; i++) {
        uint32_t page = ranked[i].page;
        unsigned tier = tier_of_rank(placement, i);
        if (!placement->is_present[page] || placement->tier[page] == tier)
            continue;
        if (ranked[i].is_new)
            hm_placement_put(placement, page, tier);
        else
            hm_placement_move(placement, page, tier);
    }
}

int hm_replay_phase_oracle(const struct hm_trace *trace, const struct hm_replay_options *options,
                           struct hm_score *score)
{
    struct oracle oracle;
    if (begin_oracle(&oracle, trace, options) < 0)
        return -1;
    for (size_t phase = 0; phase < trace->n_phases; phase++) {
        place_hottest(&oracle.placement, phase, oracle.ranked);
        hm_placement_serve(&oracle.placement, phase);
    }
    *score = end_oracle(&oracle);
    return 0;
}
