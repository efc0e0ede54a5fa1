/* SPDX-License-Identifier: Apache-2.0 */
#include "drivenmodel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "migrator/replay/sampler.h"

static void begin(struct model *model, const struct hm_decider_options *options, unsigned n_spaces, uint64_t capacity)
{
    struct hm_error error = {""};
    memset(model, 0, sizeof(*model));
    model->decider = hm_decider_new(options, &error);
    assert_non_null(model->decider);
    model->n_spaces = n_spaces;
    model->capacity = capacity;
    model->state = 1;
}

static const struct hm_decider_options usual = {.period = 65536, TWO_TIERS, .max_extents = 1000};

void model_begin(struct model *model, const char *algorithm, unsigned n_spaces, uint64_t capacity)
{
    struct hm_decider_options options = usual;
    options.algorithm = algorithm;
    begin(model, &options, n_spaces, capacity);
}

void model_begin_at(struct model *model, double period, double error, bool has_blocks, unsigned n_spaces,
                    uint64_t capacity)
{
    struct hm_decider_options options = usual;
    options.algorithm = "regions";
    options.period = period;
    options.error = error;
    options.counts_memory = true;
    options.max_extents = 8192; /* as a migrator has them */
    options.has_blocks = has_blocks;
    begin(model, &options, n_spaces, capacity);
}

void model_end(struct model *model)
{
    hm_decider_free(model->decider);
}

/* Draws `samples` accesses, each to a page with a chance in proportion to the page's heat, and passes them on. */
static void sample(struct model *model, unsigned samples, model_heat *heat, const void *data)
{
    struct hm_random random = {model->state};
    size_t n = (size_t)model->n_spaces * MODEL_PAGES;
    double *sum = calloc(n + 1, sizeof(*sum)), store;
    assert_non_null(sum);
    for (size_t i = 0; i < n; i++)
        sum[i + 1] = sum[i] + heat(data, (unsigned)(i / MODEL_PAGES), i % MODEL_PAGES, &store);
    for (unsigned k = 0; k < samples; k++) {
        double at = hm_random_share(&random) * sum[n];
        size_t low = 0, high = n;
        while (high - low > 1) {
            size_t middle = low + (high - low) / 2;
            if (sum[middle] <= at)
                low = middle;
            else
                high = middle;
        }
        unsigned space = (unsigned)(low / MODEL_PAGES);
        heat(data, space, low % MODEL_PAGES, &store);
        bool is_store = hm_random_share(&random) < store;
        struct hm_observation seen = {.page = HM_PAGE(space, MODEL_BASE + low % MODEL_PAGES),
                                      .n_pages = 1,
                                      .reads = !is_store,
                                      .writes = is_store,
                                      .knows_writes = true};
        hm_decider_observe(model->decider, &seen, 1);
    }
    free(sum);
    model->state = random.state;
}

/* Cuts a span of one space to the pages that exist. Returns the first index; `end` gets the one after the last. */
static uint64_t clip(uint64_t first, uint64_t n_pages, uint64_t *end)
{
    uint64_t from = HM_PAGE_NUMBER(first), to = from + n_pages;
    from = from < MODEL_BASE ? 0 : from - MODEL_BASE;
    to = to < MODEL_BASE ? 0 : to - MODEL_BASE;
    *end = to < MODEL_PAGES ? to : MODEL_PAGES;
    return from;
}

static void carry_out(struct model *model, const struct hm_move *move)
{
    uint64_t end, page = clip(move->first, move->n_pages, &end), left = move->limit;
    bool *is_fast = model->is_fast[HM_PAGE_SPACE(move->first)];
    for (; page < end && left > 0; page++) {
        if (is_fast[page] == hm_move_is_up(move))
            continue;
        is_fast[page] = hm_move_is_up(move);
        model->used += hm_move_is_up(move) ? 1 : -UINT64_C(1);
        model->promoted += hm_move_is_up(move);
        model->demoted += !hm_move_is_up(move);
        model->moved++;
        left--;
    }
}

void model_decide(struct model *model, uint64_t moves)
{
    size_t n;
    hm_decider_end_phase(model->decider);
    struct hm_extent *extent = hm_decider_extents(model->decider, &n);
    for (size_t i = 0; i < n; i++) {
        uint64_t end, page = clip(extent[i].first, extent[i].n_pages, &end);
        for (extent[i].tier_pages[0] = extent[i].tier_pages[1] = 0; page < end; page++)
            model->is_fast[HM_PAGE_SPACE(extent[i].first)][page] ? extent[i].tier_pages[0]++
                                                                 : extent[i].tier_pages[1]++;
    }
    struct hm_budget budget = {.capacity_pages = {model->capacity},
                               .used_pages = {model->used},
                               .move_pages = moves,
                               .phases_left = -1,
                               .share = model->share};
    if (model->plans_twice) {
        struct hm_budget small = budget;
        small.move_pages = 7;
        hm_decider_plan(model->decider, &small, &n);
    }
    const struct hm_move *move = hm_decider_plan(model->decider, &budget, &n);
    model->moved = model->promoted = model->demoted = 0;
    bool promotes = false;
    for (size_t i = 0; i < n; i++) {
        promotes = promotes || hm_move_is_up(&move[i]);
        assert_false(promotes && !hm_move_is_up(&move[i])); /* demotions first */
        carry_out(model, &move[i]);
    }
    assert_true(model->moved <= moves);
}

void model_phase(struct model *model, unsigned samples, model_heat *heat, const void *data, uint64_t moves)
{
    sample(model, samples, heat, data);
    model_decide(model, moves);
}

double model_share(const struct model *model, model_heat *heat, const void *data)
{
    double all = 0, fast = 0, store;
    for (unsigned space = 0; space < model->n_spaces; space++)
        for (uint64_t page = 0; page < MODEL_PAGES; page++) {
            double here = heat(data, space, page, &store);
            all += here;
            fast += model->is_fast[space][page] ? here : 0;
        }
    return fast / all;
}
