/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the source and passes its samples to the decision code. If a source ends, opens the next best one. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fit.h"
#include "base/pagesize.h"
#include "live.h"
#include "optiontiers.h"

unsigned hm_live_max_extents(const struct hm_options *options)
{
    if (options->max_extents > 0)
        return options->max_extents;
    return strcmp(options->algorithm, "bins") == 0 ? HM_LIVE_BINS : HM_LIVE_EXTENTS;
}

/* Makes a decider for the open source. Returns 0 or -1. */
static int new_decider(struct hm_live *live, struct hm_error *error)
{
    const struct hm_options *options = live->options;
    const struct hm_source_state *state = &live->intake.source->state;
    double lines = (double)hm_page_size() / HM_LINE_BYTES; /* of a page */
    double read[HM_MAX_TIERS], write[HM_MAX_TIERS];
    struct hm_decider_options setup = {
        .algorithm = options->algorithm,
        .period = (double)state->unit,
        .page_bytes = hm_page_size(),
        .max_extents = hm_live_max_extents(options),
        .hot_by_writes = options->hot_by_writes,
        .error = state->error,
        .counts_memory = state->counts_memory,
        .has_blocks = state->has_rounds,
    };
    hm_options_latencies(options, read, write);
    hm_decider_set_latencies(&setup, options->n_middle + 2, read, write, lines);
    live->decider = hm_decider_new(&setup, error);
    return live->decider ? 0 : -1;
}

static void drop_decider(struct hm_live *live)
{
    if (live->decider)
        live->intake.retired_dropped += hm_decider_dropped(live->decider);
    hm_decider_free(live->decider);
    live->decider = NULL;
    /* The observations in `later` were waiting for this decider. */
    live->intake.dropped += live->intake.n_later;
    live->intake.n_later = 0;
}

void hm_live_begin_anew(struct hm_live *live)
{
    struct hm_decider *before = live->decider;
    live->intake.ways = live->intake.source->state.ways;
    hm_live_begin_phase(live, hm_clock_ns(CLOCK_MONOTONIC));
    live->intake.dropped += live->intake.n_later;
    live->intake.n_later = 0;
    if (new_decider(live, NULL) != 0) {
        live->decider = before;
        return;
    }
    live->intake.retired_dropped += hm_decider_dropped(before);
    hm_decider_free(before);
}

uint64_t hm_live_samples(const struct hm_live *live)
{
    return live->intake.retired.samples + (live->intake.source ? live->intake.source->state.samples : 0);
}

bool hm_live_has_looked(const struct hm_live *live)
{
    const struct hm_source_state *state = &live->intake.source->state;
    return !state->has_rounds || state->rounds > live->phase_first_round;
}

void hm_live_close_source(struct hm_live *live)
{
    if (!live->intake.source)
        return;
    const struct hm_source_state *state = &live->intake.source->state;
    live->intake.retired.samples += state->samples;
    live->intake.retired.lost += state->lost;
    live->intake.retired.throttled += state->throttled;
    if (state->kernel_cpu_s > 0)
        live->intake.retired.kernel_cpu_s += state->kernel_cpu_s;
    live->intake.source->close(live->intake.source);
    live->intake.source = NULL;
    live->intake.ranks.aside = 0;
    for (uint32_t space = 0; space < live->intake.ranks.n; space++)
        live->intake.ranks.rank[space].has_unseen = false; /* the next source has its own marks */
    drop_decider(live);
    live->window.is_used = live->window.is_open = false;
    live->account.deciding_s = 0;
}

static bool is_dead(const struct hm_live *live, const struct hm_source_row *row)
{
    for (size_t i = 0; i < live->intake.n_dead; i++)
        if (live->intake.dead[i] == row)
            return true;
    return false;
}

/* Opens the best source that works and has not ended before. */
static void open_next(struct hm_live *live, const struct hm_source_setup *setup, struct hm_error *error)
{
    for (int i = 0; !live->intake.source && hm_source_at(i); i++)
        if (!is_dead(live, hm_source_at(i)))
            live->intake.source = hm_source_at(i)->open(setup, error);
}

struct hm_source_setup hm_live_source_setup(const struct hm_options *options, unsigned n_cpus)
{
    struct hm_source_setup setup = {.period = options->period,
                                    .overhead = options->overhead,
                                    .n_cpus = n_cpus,
                                    .interval_ms = (unsigned)options->interval_ms,
                                    .stop = -1};
    snprintf(setup.broker, sizeof(setup.broker), "%s", options->broker);
    return setup;
}

void hm_live_open_source(struct hm_live *live)
{
    const struct hm_options *options = live->options;
    struct hm_source_setup setup = hm_live_source_setup(options, live->account.n_cpus);
    setup.stop = live->signals;
    struct hm_error error = {{0}};
    char why[HM_WARNING] = "", text[HM_ERROR_TEXT + 64];
    if (live->intake.n_dead == 0)
        live->intake.source = hm_source_open(options->source, &setup, why, &error);
    /* The migrator was told to end while the source was being opened. That is no failure of the source: no warning. */
    if (!live->intake.source && hm_live_is_told(live))
        return;
    if (!live->intake.source && (live->intake.n_dead > 0 || strcmp(options->source, "auto") != 0)) {
        if (live->intake.n_dead == 0) {
            snprintf(text, sizeof(text), "source=%s: %s", options->source, error.text);
            hm_progress_warn(live->shown.progress, text);
            hm_fit(why, sizeof(why), "%s", error.text);
        }
        open_next(live, &setup, &error);
    }
    live->intake.ranks.aside = live->intake.source ? live->intake.source->helper : 0;
    live->intake.ways = 0;
    hm_live_begin_phase(live, hm_clock_ns(CLOCK_MONOTONIC)); /* the decider is new, and knows nothing yet */
    if (live->intake.source && new_decider(live, &error) != 0)
        hm_live_close_source(live);
    live->window.is_used = live->intake.source && !live->intake.source->state.knows_writes && live->window.softdirty;
    if (live->intake.source && !live->intake.source->state.knows_writes && !live->window.softdirty)
        hm_progress_warn(live->shown.progress,
                         options->hot_by_writes ? "nothing is hot: only writes count, and neither the source nor the "
                                                  "kernel tells them from reads (no soft-dirty marks)"
                                                : "writes are taken for reads: neither the source nor the kernel tells "
                                                  "them apart (no soft-dirty marks)");
    if (!live->intake.source) {
        snprintf(text, sizeof(text), "nothing is moved: no source of samples: %s", error.text);
        hm_progress_warn(live->shown.progress, text);
    }
    snprintf(live->shown.progress->source, sizeof(live->shown.progress->source), "%s",
             live->intake.source ? live->intake.source->state.name : "none");
    const char *reason = why[0] || live->intake.source ? why : error.text;
    if (!reason[0] && live->intake.source)
        reason = live->intake.source->state.how;
    hm_progress_text(live->shown.progress->source_why, sizeof(live->shown.progress->source_why), reason);
}

/* The source has ended: closes it and opens the next best one, unless it has ended as the migrator is to end. */
static void replace(struct hm_live *live, const char *reason)
{
    char text[HM_ERROR_TEXT + 64];
    if (hm_live_is_told(live)) {
        hm_live_close_source(live);
        return;
    }
    snprintf(text, sizeof(text), "source %s ended: %s", live->intake.source->state.name, reason);
    hm_progress_warn(live->shown.progress, text);
    if (live->intake.n_dead < HM_LIVE_DEAD)
        live->intake.dead[live->intake.n_dead++] = live->intake.source->row;
    hm_live_close_source(live);
    hm_live_open_source(live);
}

void hm_live_read_source(struct hm_live *live)
{
    struct hm_error error = {{0}};
    if (!live->intake.source)
        return;
    double start_s = hm_live_thread_s();
    int result = live->intake.source->read(live->intake.source, &live->intake.ranks, hm_live_take, live, &error);
    live->account.read_s += hm_live_thread_s() - start_s;
    live->intake.read_ns = hm_clock_ns(CLOCK_MONOTONIC);
    if (result != 0)
        replace(live, error.text);
}

void hm_live_update_source(struct hm_live *live)
{
    struct hm_error error = {{0}};
    if (live->intake.source &&
        live->intake.source->update(live->intake.source, &live->intake.ranks, live->intake.maps, &error) != 0) {
        replace(live, error.text);
        /* A new source does not know the processes yet. */
        if (live->intake.source)
            live->intake.source->update(live->intake.source, &live->intake.ranks, live->intake.maps, NULL);
    }
    if (live->intake.source && live->intake.source->state.partly[0])
        hm_progress_warn(live->shown.progress, live->intake.source->state.partly);
}
