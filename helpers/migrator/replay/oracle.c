/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placements without sampling, for comparison: first touch, which knows nothing of the accesses, and two oracles, which
 * know them all.
 */
#include <errno.h>
#include <stdlib.h>

#include "placement.h"

struct ranked {
    uint64_t heat;
    uint32_t page;
    bool is_fast, is_new;
};

/* Hottest first; of equally hot pages, those in the fast tier first, then by address. */
static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->heat != y->heat)
        return x->heat > y->heat ? -1 : 1;
    if (x->is_fast != y->is_fast)
        return x->is_fast ? -1 : 1;
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
    for (size_t i = 0; i < oracle.placement.capacity; i++)
        oracle.placement.is_fast[oracle.ranked[i].page] = true;
    for (size_t phase = 0; phase < trace->n_phases; phase++)
        hm_placement_serve(&oracle.placement, phase);
    *score = end_oracle(&oracle);
    return 0;
}

/*
 * Puts the hottest pages of a phase into the fast tier. A page that is touched for the first time is placed in its tier
 * without a move.
 */
static void place_hottest(struct hm_placement *placement, size_t phase, struct ranked *ranked)
{
    const struct hm_trace *trace = placement->trace;
    for (size_t page = 0; page < trace->n_pages; page++)
        ranked[page] = (struct ranked){
            .page = (uint32_t)page, .is_fast = placement->is_fast[page], .is_new = !placement->is_present[page]};
    add_heat(trace, phase, ranked);
    hm_placement_touch(placement, phase);
    qsort(ranked, trace->n_pages, sizeof(*ranked), compare_ranked);
    for (size_t i = 0; i < trace->n_pages; i++) {
        uint32_t page = ranked[i].page;
        if (!placement->is_present[page] || placement->is_fast[page] == (i < placement->capacity))
            continue;
        if (ranked[i].is_new)
            placement->is_fast[page] = i < placement->capacity;
        else
            hm_placement_move(placement, page);
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
