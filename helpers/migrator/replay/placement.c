/* SPDX-License-Identifier: Apache-2.0 */
#include "placement.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/model.h"

#define ROUNDING 1e-9 /* that of a sum of shares */

uint64_t hm_replay_capacity(const struct hm_trace *trace, double fast)
{
    /* The factor allows for rounding: in binary, 0.29 * 100 is just below 29. */
    uint64_t pages = (uint64_t)((double)trace->n_pages * fast * (1 + 1e-12));
    return pages < trace->n_pages ? pages : trace->n_pages;
}

int hm_placement_init(struct hm_placement *placement, const struct hm_trace *trace,
                      const struct hm_replay_options *options)
{
    memset(placement, 0, sizeof(*placement));
    placement->trace = trace;
    placement->options = options;
    placement->capacity = hm_replay_capacity(trace, options->fast);
    placement->new_share = 1;
    placement->is_fast = calloc(trace->n_pages + 1, sizeof(bool));
    placement->is_present = calloc(trace->n_pages + 1, sizeof(bool));
    if (placement->is_fast && placement->is_present)
        return 0;
    hm_placement_free(placement);
    errno = ENOMEM;
    return -1;
}

void hm_placement_spread(struct hm_placement *placement)
{
    const struct hm_load *load = placement->options->load;
    double share = hm_spill_best_share(load->channels, hm_curve_most_gbs(&load->fast), hm_curve_most_gbs(&load->slow));
    if ((double)placement->capacity >= share * (double)placement->trace->n_pages)
        placement->new_share = share;
}

void hm_placement_free(struct hm_placement *placement)
{
    free(placement->is_fast);
    free(placement->is_present);
    placement->is_fast = placement->is_present = NULL;
}

void hm_placement_touch(struct hm_placement *placement, size_t phase)
{
    const struct hm_trace *trace = placement->trace;
    const struct hm_trace_row *row = trace->row + trace->phase[phase].first;
    for (size_t i = 0; i < trace->phase[phase].count; i++) {
        uint32_t page = row[i].page;
        if (placement->is_present[page])
            continue;
        placement->is_present[page] = true;
        placement->due += placement->new_share;
        placement->is_fast[page] = placement->used < placement->capacity && placement->due > 1 - ROUNDING;
        placement->due = fmin(placement->due - placement->is_fast[page], 1);
        placement->used += placement->is_fast[page];
    }
}

void hm_placement_serve(struct hm_placement *placement, size_t phase)
{
    const struct hm_trace *trace = placement->trace;
    const struct hm_trace_row *end = trace->row + trace->phase[phase].first + trace->phase[phase].count;
    double fast_before = placement->fast_mem, before = placement->mem;
    for (const struct hm_trace_row *row = end - trace->phase[phase].count; row < end; row++) {
        double raw = (double)row->raw_reads + row->raw_writes, mem = (double)row->mem_reads + row->mem_writes;
        bool is_fast = placement->is_fast[row->page];
        placement->raw += raw;
        placement->mem += mem;
        placement->writes += row->mem_writes;
        placement->fast_raw += is_fast ? raw : 0;
        placement->fast_mem += is_fast ? mem : 0;
        placement->slow_writes += is_fast ? 0 : row->mem_writes;
        placement->cost += is_fast ? mem
                                   : row->mem_reads * placement->options->latency_read +
                                         row->mem_writes * placement->options->latency_write;
    }
    if (placement->options->load) {
        double fast = placement->fast_mem - fast_before;
        hm_loaded_serve(&placement->loaded, placement->options, fast, placement->mem - before - fast);
    }
}

void hm_placement_move(struct hm_placement *placement, size_t page)
{
    const struct hm_replay_options *options = placement->options;
    bool to_fast = placement->is_fast[page] = !placement->is_fast[page];
    placement->cost += HM_LINES_PER_PAGE * (1 + (to_fast ? options->latency_read : options->latency_write));
    placement->loaded.moved_lines += HM_LINES_PER_PAGE;
    placement->promoted += to_fast;
    placement->demoted += !to_fast;
    placement->used += to_fast ? 1 : -UINT64_C(1);
}

struct hm_score hm_placement_score(const struct hm_placement *placement)
{
    const struct hm_replay_options *options = placement->options;
    double cost = options->load ? hm_loaded_cost(&placement->loaded, options) : placement->cost;
    return (struct hm_score){.amat = cost / placement->mem,
                             .share_mem = placement->fast_mem / placement->mem,
                             .share_raw = placement->fast_raw / placement->raw,
                             .slow_writes = placement->slow_writes / placement->writes,
                             .promoted = placement->promoted,
                             .demoted = placement->demoted,
                             .fast_ns = hm_loaded_mean(&placement->loaded.fast),
                             .slow_ns = hm_loaded_mean(&placement->loaded.slow)};
}
