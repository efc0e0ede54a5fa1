/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of `hybridmem replay` as JSON (print.h). */
#include <stdbool.h>

#include "cli/draw/figures.h"
#include "load.h"
#include "print.h"
#include "tiers.h"

static json_t *json_score(const struct hm_replay_report *report, const struct hm_score *score)
{
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:o, s:I}", "amat", hm_figures_real(score->amat), "share_mem",
                  hm_figures_real(score->share_mem), "share_raw", hm_figures_real(score->share_raw), "slow_writes",
                  hm_figures_real(score->slow_writes), "pages_moved", (json_int_t)(score->promoted + score->demoted));
    if (object && report->options->load) {
        json_object_set_new(object, "fast_ns", hm_figures_real(score->fast_ns));
        json_object_set_new(object, "slow_ns", hm_figures_real(score->slow_ns));
    }
    if (object && report->options->unit_ns > 0 && hm_replaytiers_add(object, report, score) < 0) {
        json_decref(object);
        object = NULL;
    }
    return object;
}

/* A path may be invalid UTF-8, which JSON does not allow. */
static json_t *json_text(const char *text)
{
    char ascii[512];
    json_t *string = json_string(text);
    if (string)
        return string;
    snprintf(ascii, sizeof(ascii), "%s", text);
    for (char *byte = ascii; *byte; byte++)
        if (*byte & 0x80)
            *byte = '?';
    return json_string(ascii);
}

/* Under load there is no fixed latency, and tiers that the user has named say theirs. */
static json_t *json_latency(const struct hm_replay_options *options, double latency)
{
    return options->load || options->unit_ns > 0 ? json_null() : json_real(latency);
}

static json_t *json_inputs(const struct hm_replay_report *report)
{
    const struct hm_replay_options *options = report->options;
    const struct hm_trace *trace = report->trace;
    bool has_length = trace->phase_accesses > 0 && trace->phase_accesses <= INT64_MAX;
    return json_pack(
        "{s:o, s:o, s:I, s:I, s:o, s:f, s:I, s:s, s:I, s:s, s:I, s:o, s:o, s:I}", "trace", json_text(report->path),
        "app", trace->app[0] ? json_text(trace->app) : json_null(), "pages", (json_int_t)trace->n_pages, "phases",
        (json_int_t)trace->n_phases, "phase_accesses",
        has_length ? json_integer((json_int_t)trace->phase_accesses) : json_null(), "fast", options->tier[0].share,
        "fast_pages", (json_int_t)hm_replay_capacity(trace, options->tier[0].share), "algorithm", options->algorithm,
        "period", (json_int_t)options->period, "sample", options->sampled == HM_SAMPLED_RAW ? "raw" : "mem", "bins",
        (json_int_t)options->max_extents, "lat_read", json_latency(options, options->tier[1].read), "lat_write",
        json_latency(options, options->tier[1].write), "seed", (json_int_t)options->seed);
}

static json_t *json_results(const struct hm_replay_report *report)
{
    const struct hm_replay_result *result = &report->result;
    json_t *object = json_score(report, &result->ours);
    json_t *more =
        json_pack("{s:I, s:I, s:I, s:f, s:I, s:o, s:o, s:o}", "promoted", (json_int_t)result->ours.promoted, "demoted",
                  (json_int_t)result->ours.demoted, "samples", (json_int_t)result->samples, "decide_s",
                  result->decide_s, "peak_bytes", (json_int_t)result->peak_bytes, "first_touch",
                  json_score(report, &report->first_touch), "static_oracle", json_score(report, &report->static_oracle),
                  "phase_oracle", json_score(report, &report->phase_oracle));
    if (!object || !more || json_object_update(object, more) < 0) {
        json_decref(object);
        object = NULL;
    }
    json_decref(more);
    return object;
}

json_t *hm_replayprint_json(const struct hm_replay_report *report, const struct hm_explained *explained,
                            const struct hm_grid *grid)
{
    json_t *object = json_inputs(report), *results = json_results(report);
    bool is_whole = object && results && json_object_update(object, results) == 0;
    if (is_whole && report->options->unit_ns > 0)
        is_whole = json_object_set_new(object, "tiers", hm_replaytiers_json(report)) == 0 &&
                   json_object_set_new(object, "least_cost_oracle", json_score(report, &report->least_cost)) == 0;
    if (is_whole && report->options->load)
        is_whole = json_object_set_new(object, "load", hm_replayload_json(report->options)) == 0 &&
                   json_object_set_new(object, "balanced_oracle", json_score(report, &report->balanced)) == 0;
    if (is_whole && explained)
        is_whole = json_object_set_new(object, "regions", hm_replayexplain_json(explained)) == 0;
    if (is_whole && grid)
        is_whole = json_object_set_new(object, "grid", hm_grid_json(grid)) == 0;
    json_decref(results);
    if (is_whole)
        return object;
    json_decref(object);
    return NULL;
}
