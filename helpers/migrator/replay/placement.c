/* SPDX-License-Identifier: Apache-2.0 */
#include "placement.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/model.h"

#define ROUNDING 1e-9 /* that of a sum of shares */

uint64_t hm_replay_capacity(const struct hm_trace *trace, double share)
{
    /* The factor allows for rounding: in binary, 0.29 * 100 is just below 29. */
    uint64_t pages = (uint64_t)((double)trace->n_pages * share * (1 + 1e-12));
    return pages < trace->n_pages ? pages : trace->n_pages;
}

int hm_placement_init(struct hm_placement *placement, const struct hm_trace *trace,
                      const struct hm_replay_options *options)
{
    memset(placement, 0, sizeof(*placement));
    placement->trace = trace;
    placement->options = options;
    for (unsigned tier = 0; tier + 1 < options->n_tiers; tier++)
        placement->capacity[tier] = hm_replay_capacity(trace, options->tier[tier].share);
    placement->capacity[options->n_tiers - 1] = trace->n_pages;
    placement->new_share = 1;
    placement->tier = malloc(trace->n_pages + 1);
    placement->is_present = calloc(trace->n_pages + 1, sizeof(bool));
    if (placement->tier && placement->is_present) {
        memset(placement->tier, (int)options->n_tiers - 1, trace->n_pages + 1);
        return 0;
    }
    hm_placement_free(placement);
    errno = ENOMEM;
    return -1;
}

void hm_placement_spread(struct hm_placement *placement)
{
    const struct hm_load *load = placement->options->load;
    double share = hm_spill_best_share(load->channels, hm_curve_most_gbs(&load->fast), hm_curve_most_gbs(&load->slow));
    if ((double)placement->capacity[0] >= share * (double)placement->trace->n_pages)
        placement->new_share = share;
}

void hm_placement_free(struct hm_placement *placement)
{
    free(placement->tier);
    free(placement->is_present);
    placement->tier = NULL;
    placement->is_present = NULL;
}

void hm_placement_touch(struct hm_placement *placement, size_t phase)
{
    const struct hm_trace *trace = placement->trace;
    const struct hm_trace_row *row = trace->row + trace->phase[phase].first;
    for (size_t i = 0; i < trace->phase[phase].count; i++) {
        uint32_t page = row[i].page;
        if (placement->is_present[page])
            continue;
        placement->due += placement->new_share;
        unsigned tier = placement->due > 1 - ROUNDING ? 0 : 1;
        while (tier + 1 < placement->options->n_tiers && placement->used[tier] >= placement->capacity[tier])
            tier++;
        placement->is_present[page] = true;
        placement->due = fmin(placement->due - (tier == 0), 1);
        placement->tier[page] = (uint8_t)tier;
        placement->used[tier]++;
    }
}

void hm_placement_serve(struct hm_placement *placement, size_t phase)
{
    const struct hm_trace *trace = placement->trace;
    const struct hm_trace_row *end = trace->row + trace->phase[phase].first + trace->phase[phase].count;
    double fast = placement->served[0].mem, slow = placement->served[1].mem;
    for (const struct hm_trace_row *row = end - trace->phase[phase].count; row < end; row++) {
        unsigned tier = placement->tier[row->page];
        struct hm_served *served = &placement->served[tier];
        served->raw += (double)row->raw_reads + row->raw_writes;
        served->mem += (double)row->mem_reads + row->mem_writes;
        served->writes += row->mem_writes;
        placement->cost += row->mem_reads * placement->options->tier[tier].read +
                           row->mem_writes * placement->options->tier[tier].write;
    }
    if (placement->options->load)
        hm_loaded_serve(&placement->loaded, placement->options, placement->served[0].mem - fast,
                        placement->served[1].mem - slow);
}

void hm_placement_put(struct hm_placement *placement, size_t page, unsigned tier)
{
    placement->used[placement->tier[page]]--;
    placement->used[tier]++;
    placement->tier[page] = (uint8_t)tier;
}

void hm_placement_move(struct hm_placement *placement, size_t page, unsigned tier)
{
    unsigned from = placement->tier[page];
    placement->cost += HM_LINES_PER_PAGE * (placement->options->tier[from].read + placement->options->tier[tier].write);
    placement->loaded.moved_lines += HM_LINES_PER_PAGE;
    placement->moved[from][tier]++;
    hm_placement_put(placement, page, tier);
}

struct hm_score hm_placement_score(const struct hm_placement *placement)
{
    const struct hm_replay_options *options = placement->options;
    double cost = options->load ? hm_loaded_cost(&placement->loaded, options) : placement->cost;
    struct hm_served all = {0};
    struct hm_score score = {.fast_ns = hm_loaded_mean(&placement->loaded.fast),
                             .slow_ns = hm_loaded_mean(&placement->loaded.slow)};
    for (unsigned tier = 0; tier < options->n_tiers; tier++) {
        all.mem += placement->served[tier].mem;
        all.raw += placement->served[tier].raw;
        all.writes += placement->served[tier].writes;
    }
    for (unsigned from = 0; from < options->n_tiers; from++) {
        score.tier_mem[from] = placement->served[from].mem / all.mem;
        score.tier_writes[from] = placement->served[from].writes / all.writes;
        for (unsigned to = 0; to < options->n_tiers; to++) {
            score.moved[from][to] = placement->moved[from][to];
            *(to < from ? &score.promoted : &score.demoted) += placement->moved[from][to];
        }
    }
    score.amat = cost / all.mem;
    score.share_mem = score.tier_mem[0];
    score.share_raw = placement->served[0].raw / all.raw;
    score.slow_writes = score.tier_writes[options->n_tiers - 1];
    return score;
}
