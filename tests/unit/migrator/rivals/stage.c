/* SPDX-License-Identifier: Apache-2.0 */
#include "stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

void stage_begin(struct stage *stage, const struct hm_algorithm *algorithm, unsigned capacity, unsigned n_fast,
                 double cost)
{
    const struct hm_decider_options options = {.period = 1,
                                               .n_tiers = 2,
                                               .read_gain = {0, 1},
                                               .write_gain = {0, 4},
                                               .page_bytes = 4096,
                                               .move_cost[1][0] = cost,
                                               .move_cost[0][1] = cost,
                                               .max_extents = 16,
                                               .counts_memory = true};
    struct hm_error error = {""};
    memset(stage, 0, sizeof(*stage));
    stage->decider = hm_decider_new_of(algorithm, &options, &error);
    assert_non_null(stage->decider);
    for (unsigned i = 0; i < n_fast; i++)
        stage->is_fast[i] = true;
    stage->budget = (struct hm_budget){.capacity_pages = {capacity},
                                       .move_pages = UINT64_MAX,
                                       .phases_left = -1,
                                       .fast_latency = 1,
                                       .slow_latency = 2};
}

void stage_end(struct stage *stage)
{
    hm_decider_free(stage->decider);
}

void stage_see(struct stage *stage, unsigned page, unsigned reads, unsigned writes)
{
    const struct hm_observation seen = {
        .page = STAGE_FIRST + page, .n_pages = 1, .reads = (float)reads, .writes = (float)writes, .knows_writes = true};
    hm_decider_observe(stage->decider, &seen, 1);
}

/* The pages of the stage that a span has: from *first to before *end. */
static void clip(uint64_t first, uint64_t n_pages, unsigned *from, unsigned *end)
{
    uint64_t last = first + n_pages;
    *from = first > STAGE_FIRST ? (unsigned)(first - STAGE_FIRST) : 0;
    *end = last > STAGE_FIRST + STAGE_PAGES ? STAGE_PAGES : last > STAGE_FIRST ? (unsigned)(last - STAGE_FIRST) : 0;
}

static void carry_out(struct stage *stage, const struct hm_move *move)
{
    uint64_t left = move->limit;
    unsigned page, end;
    for (clip(move->first, move->n_pages, &page, &end); page < end && left > 0; page++) {
        if (stage->is_fast[page] == hm_move_is_up(move))
            continue;
        stage->is_fast[page] = hm_move_is_up(move);
        *(hm_move_is_up(move) ? &stage->promoted : &stage->demoted) += 1;
        left--;
    }
    assert_int_equal(left, 0);
}

void stage_decide(struct stage *stage)
{
    size_t n, n_moves;
    hm_decider_end_phase(stage->decider);
    struct hm_extent *extent = hm_decider_extents(stage->decider, &n);
    stage->budget.used_pages[0] = stage->promoted = stage->demoted = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned page, end;
        extent[i].tier_pages[0] = extent[i].tier_pages[1] = 0;
        for (clip(extent[i].first, extent[i].n_pages, &page, &end); page < end; page++)
            *(stage->is_fast[page] ? &extent[i].tier_pages[0] : &extent[i].tier_pages[1]) += 1;
        stage->budget.used_pages[0] += extent[i].tier_pages[0];
    }
    const struct hm_move *move = hm_decider_plan(stage->decider, &stage->budget, &n_moves);
    for (size_t i = 0; i < n_moves; i++)
        carry_out(stage, &move[i]);
    assert_true(stage->budget.used_pages[0] + stage->promoted - stage->demoted <= stage->budget.capacity_pages[0]);
}

enum hm_verdict stage_verdict(struct stage *stage, unsigned page)
{
    size_t n;
    const struct hm_extent *extent = hm_decider_extents(stage->decider, &n);
    for (size_t i = 0; i < n; i++)
        if (STAGE_FIRST + page - extent[i].first < extent[i].n_pages)
            return extent[i].verdict;
    fail_msg("no extent has page %u", page);
    return HM_VERDICTS;
}
