/* SPDX-License-Identifier: Apache-2.0 */
/* What is sampled, on its way to the decision code. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"

#define CHUNK 256

struct chunk { /* observations on their way */
    struct hm_live *live;
    size_t n;
    struct hm_observation observation[CHUNK];
};

/* For the source that was opened. */
static int new_decider(struct hm_live *live)
{
    const struct hm_options *options = live->options;
    const struct hm_source_state *state = &live->source->state;
    struct hm_error error = {{0}};
    struct hm_decider_options setup = {
        .algorithm = options->algorithm,
        .period = (double)state->unit,
        .read_gain = options->lat_read - 1,
        .write_gain = options->lat_write - 1,
        .promote_cost = 64 * (options->lat_read + 1),
        .demote_cost = 64 * (1 + options->lat_write),
        .max_regions = options->max_regions > 0 ? options->max_regions : HM_LIVE_REGIONS,
        .hot_by_writes = options->hot_by_writes,
        .error = state->error,
        .counts_memory = state->counts_memory,
    };
    live->decider = hm_decider_new(&setup, &error);
    if (live->decider)
        return 0;
    hm_progress_warn(live->progress, error.text);
    return -1;
}

static void drop_decider(struct hm_live *live)
{
    if (live->decider)
        live->retired_dropped += hm_decider_dropped(live->decider);
    hm_decider_free(live->decider);
    live->decider = NULL;
    /* What was put off was for it. */
    live->dropped += live->n_later;
    live->n_later = 0;
}

static void hand_over(struct chunk *chunk)
{
    if (chunk->n > 0)
        hm_decider_observe(chunk->live->decider, chunk->observation, chunk->n);
    chunk->n = 0;
}

static void add(struct chunk *chunk, struct hm_observation observation)
{
    struct hm_live *live = chunk->live;
    if (live->uses_softdirty)
        hm_softdirty_split(live->softdirty, &observation, 1);
    hm_tally_add(&live->tally, &observation, (double)live->source->state.unit, true);
    chunk->observation[chunk->n++] = observation;
    if (chunk->n == CHUNK)
        hand_over(chunk);
}

/* Evenly spread over the part of the observation's pages from `from` to `to`, of `pages` that share its weight; cut
 * where what is known of writes changes. */
static void add_part(struct chunk *chunk, const struct hm_observation *observation, uint64_t from, uint64_t to,
                     uint64_t pages)
{
    const struct hm_live *live = chunk->live;
    for (uint64_t end; from < to; from = end) {
        end = live->uses_softdirty ? hm_softdirty_border(live->softdirty, from) : to;
        end = end < to ? end : to;
        struct hm_observation part = *observation;
        float share = (float)((double)(end - from) / (double)pages);
        part.page = from;
        part.n_pages = end - from;
        part.reads *= share;
        part.writes *= share;
        add(chunk, part);
    }
}

/* The pages of the observation that may be moved share its weight. Returns false where there are none. */
static bool add_movable(struct chunk *chunk, const struct hm_observation *observation)
{
    uint32_t space = HM_PAGE_SPACE(observation->page);
    uint64_t first = HM_PAGE_NUMBER(observation->page), end = first + observation->n_pages;
    if (space >= HM_RANKS)
        return false;
    const struct hm_maps *maps = &chunk->live->maps[space];
    uint64_t pages = hm_maps_count(maps, first, observation->n_pages);
    for (size_t i = hm_maps_find(maps, first); i < maps->n && maps->range[i].first < end; i++) {
        uint64_t from = maps->range[i].first > first ? maps->range[i].first : first;
        uint64_t to = maps->range[i].first + maps->range[i].n_pages;
        add_part(chunk, observation, HM_PAGE(space, from), HM_PAGE(space, to < end ? to : end), pages);
    }
    return pages > 0;
}

static void take(void *data, const struct hm_observation *observations, size_t count)
{
    struct hm_live *live = data;
    struct chunk chunk = {.live = live};
    for (size_t i = 0; i < count; i++) {
        if (add_movable(&chunk, &observations[i]))
            continue;
        if (live->n_later < HM_LIVE_LATER)
            live->later[live->n_later++] = observations[i];
        else
            live->dropped++;
    }
    hand_over(&chunk);
}

void hm_live_observe_later(struct hm_live *live)
{
    struct chunk chunk = {.live = live};
    for (size_t i = 0; i < live->n_later; i++)
        if (!add_movable(&chunk, &live->later[i]))
            hm_tally_add(&live->tally, &live->later[i], (double)live->source->state.unit, false);
    hand_over(&chunk);
    live->n_later = 0;
}

uint64_t hm_live_samples(const struct hm_live *live)
{
    return live->retired.samples + (live->source ? live->source->state.samples : 0);
}

void hm_live_close_source(struct hm_live *live)
{
    if (!live->source)
        return;
    const struct hm_source_state *state = &live->source->state;
    live->retired.samples += state->samples;
    live->retired.lost += state->lost;
    live->retired.throttled += state->throttled;
    if (state->kernel_cpu_s > 0)
        live->retired.kernel_cpu_s += state->kernel_cpu_s;
    live->source->close(live->source);
    live->source = NULL;
    drop_decider(live);
    live->uses_softdirty = live->is_window = false;
    live->deciding_s = 0;
}

static bool is_dead(const struct hm_live *live, const struct hm_source_row *row)
{
    for (size_t i = 0; i < live->n_dead; i++)
        if (live->dead[i] == row)
            return true;
    return false;
}

/* Any source that works and did not end before. */
static void open_next(struct hm_live *live, const struct hm_source_setup *setup, struct hm_error *error)
{
    for (int i = 0; !live->source && hm_source_at(i); i++)
        if (!is_dead(live, hm_source_at(i)))
            live->source = hm_source_at(i)->open(setup, error);
}

void hm_live_open_source(struct hm_live *live)
{
    const struct hm_options *options = live->options;
    struct hm_source_setup setup = {.period = options->period,
                                    .overhead = options->overhead,
                                    .n_cpus = live->n_cpus,
                                    .interval_ms = (unsigned)options->interval_ms,
                                    .stop = live->signals};
    struct hm_error error = {{0}};
    char why[HM_WARNING] = "", text[HM_ERROR_TEXT + 64];
    snprintf(setup.broker, sizeof(setup.broker), "%s", options->broker);
    if (live->n_dead == 0)
        live->source = hm_source_open(options->source, &setup, why, &error);
    if (!live->source && hm_live_is_told(live)) /* a source that did not come in time is nothing to warn of */
        return;
    if (!live->source && (live->n_dead > 0 || strcmp(options->source, "auto") != 0)) {
        if (live->n_dead == 0) {
            snprintf(text, sizeof(text), "source=%s: %s", options->source, error.text);
            hm_progress_warn(live->progress, text);
            snprintf(why, sizeof(why), "%.*s", HM_WARNING - 1, error.text);
        }
        open_next(live, &setup, &error);
    }
    if (live->source && new_decider(live) != 0)
        hm_live_close_source(live);
    live->uses_softdirty = live->source && !live->source->state.knows_writes && live->softdirty;
    if (live->source && !live->source->state.knows_writes && !live->softdirty)
        hm_progress_warn(live->progress, options->hot_by_writes
                                             ? "nothing is hot: only writes count, and neither the source nor the "
                                               "kernel tells them from reads (no soft-dirty marks)"
                                             : "writes are taken for reads: neither the source nor the kernel tells "
                                               "them apart (no soft-dirty marks)");
    if (!live->source) {
        snprintf(text, sizeof(text), "nothing is moved: no source of samples: %s", error.text);
        hm_progress_warn(live->progress, text);
    }
    snprintf(live->progress->source, sizeof(live->progress->source), "%s",
             live->source ? live->source->state.name : "none");
    const char *reason = why[0] || live->source ? why : error.text;
    if (!reason[0] && live->source)
        reason = live->source->state.how;
    hm_progress_text(live->progress->source_why, sizeof(live->progress->source_why), reason);
}

/* The source has ended: the next best one. */
static void replace(struct hm_live *live, const char *reason)
{
    char text[HM_ERROR_TEXT + 64];
    snprintf(text, sizeof(text), "source %s ended: %s", live->source->state.name, reason);
    hm_progress_warn(live->progress, text);
    if (live->n_dead < HM_LIVE_DEAD)
        live->dead[live->n_dead++] = live->source->row;
    hm_live_close_source(live);
    hm_live_open_source(live);
}

void hm_live_read_source(struct hm_live *live)
{
    struct hm_error error = {{0}};
    if (!live->source)
        return;
    double start_s = hm_live_thread_s();
    int result = live->source->read(live->source, &live->ranks, take, live, &error);
    live->read_s += hm_live_thread_s() - start_s;
    if (result != 0)
        replace(live, error.text);
}

void hm_live_update_source(struct hm_live *live)
{
    struct hm_error error = {{0}};
    if (!live->source || live->source->update(live->source, &live->ranks, live->maps, &error) == 0)
        return;
    replace(live, error.text);
    /* A source that was opened just now does not know the processes yet. */
    if (live->source)
        live->source->update(live->source, &live->ranks, live->maps, NULL);
}
