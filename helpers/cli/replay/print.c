/* SPDX-License-Identifier: Apache-2.0 */
#include "print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/size.h"

#define PAGE 4096
/* share of first touch's AMAT (mean access time): a smaller difference is rounding, not a gain */
#define WORTH_GAINING 0.005

static const char *unit_of(const struct hm_replay_options *options)
{
    return options->sampled == HM_SAMPLED_RAW ? "raw" : "memory";
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* The program's name, from the trace's header or else from its file name, in printable ASCII. Returns `out`. */
static char *format_name(const struct hm_replay_report *report, char *out, size_t size)
{
    const char *slash = strrchr(report->path, '/');
    const char *name = report->trace->app;
    size_t length = strlen(name);
    if (length == 0) {
        name = slash ? slash + 1 : report->path;
        length = strcspn(name, ".");
    }
    snprintf(out, size, "%.*s", (int)length, name);
    for (char *byte = out; *byte; byte++)
        if ((unsigned char)*byte < 0x20 || (unsigned char)*byte > 0x7e)
            *byte = '?';
    return out;
}

/* Prints a dash if the share is undefined: the trace has no writes to memory, or no accesses to it. */
static void print_share(FILE *out, int width, double share)
{
    if (isfinite(share))
        fprintf(out, "  %*.1f %%", width - 2, 100 * share);
    else
        fprintf(out, "  %*s", width, "-");
}

static void print_score(FILE *out, const char *name, const struct hm_score *score)
{
    fprintf(out, "%-24s", name);
    if (isfinite(score->amat))
        fprintf(out, "  %6.3f", score->amat);
    else
        fprintf(out, "  %6s", "-");
    print_share(out, 15, score->share_mem);
    print_share(out, 12, score->share_raw);
    print_share(out, 11, score->slow_writes);
    fprintf(out, "  %11" PRIu64 "\n", score->promoted + score->demoted);
}

static void print_gain(FILE *out, const struct hm_replay_report *report)
{
    double ours = report->result.ours.amat, first = report->first_touch.amat;
    double possible = first - report->static_oracle.amat;
    double worse = 100 * (ours - first) / first;
    if (!isfinite(first))
        fprintf(out, "There is nothing to gain here: the trace has no accesses to memory");
    else if (possible < WORTH_GAINING * first)
        fprintf(out, "There is nothing to gain here: the static oracle is no better than first touch");
    else if (ours <= first)
        fprintf(out, "%.0f %% of the possible gain was reached: from first touch to the static oracle",
                100 * (first - ours) / possible);
    else
        fprintf(out, "Nothing was gained, where the static oracle is %.1f %% better than first touch",
                100 * possible / first);
    if (worse > 0.05)
        fprintf(out, "; ours is %.1f %% worse than first touch", worse);
    fputs(".\n", out);
}

void hm_replayprint_text(FILE *out, const struct hm_replay_report *report)
{
    const struct hm_replay_options *options = report->options;
    const struct hm_trace *trace = report->trace;
    uint64_t fast_pages = hm_replay_capacity(trace, options->fast);
    char name[80], ours[48], all[24], fast[24], peak[24];
    snprintf(ours, sizeof(ours), "ours (%s)", options->algorithm);
    fprintf(out, "%s: %zu page%s (%s) in %zu phase%s; fast tier %.6g %%: %" PRIu64 " page%s (%s)\n\n",
            format_name(report, name, sizeof(name)), trace->n_pages, plural(trace->n_pages),
            hm_size_format((uint64_t)trace->n_pages * PAGE, all, sizeof(all)), trace->n_phases, plural(trace->n_phases),
            100 * options->fast, fast_pages, plural(fast_pages), hm_size_format(fast_pages * PAGE, fast, sizeof(fast)));
    fprintf(out, "%-24s  %6s  %15s  %12s  %11s  %11s\n", "PLACEMENT", "AMAT", "MEMORY ACCESSES", "RAW ACCESSES",
            "SLOW WRITES", "PAGES MOVED");
    print_score(out, ours, &report->result.ours);
    print_score(out, "first touch", &report->first_touch);
    print_score(out, "static oracle", &report->static_oracle);
    print_score(out, "per-phase oracle", &report->phase_oracle);
    fprintf(
        out,
        "\nAccesses: the share that the fast tier served. AMAT: 1 is all fast; a slow read costs %.6g, a slow write "
        "%.6g.\n",
        options->latency_read, options->latency_write);
    fprintf(out, "Samples: %" PRIu64 ", one in %.6g %s accesses; decided in %.3f s of CPU time and %s at most.\n",
            report->result.samples, options->period, unit_of(options), report->result.decide_s,
            hm_size_format(report->result.peak_bytes, peak, sizeof(peak)));
    print_gain(out, report);
}

static json_t *json_share(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *json_score(const struct hm_score *score)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:I}", "amat", json_share(score->amat), "share_mem",
                     json_share(score->share_mem), "share_raw", json_share(score->share_raw), "slow_writes",
                     json_share(score->slow_writes), "pages_moved", (json_int_t)(score->promoted + score->demoted));
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

static json_t *json_inputs(const struct hm_replay_report *report)
{
    const struct hm_replay_options *options = report->options;
    const struct hm_trace *trace = report->trace;
    return json_pack("{s:o, s:o, s:I, s:I, s:f, s:I, s:s, s:I, s:s, s:I, s:f, s:f, s:I}", "trace",
                     json_text(report->path), "app", trace->app[0] ? json_text(trace->app) : json_null(), "pages",
                     (json_int_t)trace->n_pages, "phases", (json_int_t)trace->n_phases, "fast", options->fast,
                     "fast_pages", (json_int_t)hm_replay_capacity(trace, options->fast), "algorithm",
                     options->algorithm, "period", (json_int_t)options->period, "sample",
                     options->sampled == HM_SAMPLED_RAW ? "raw" : "mem", "bins", (json_int_t)options->max_extents,
                     "lat_read", options->latency_read, "lat_write", options->latency_write, "seed",
                     (json_int_t)options->seed);
}

static json_t *json_results(const struct hm_replay_report *report)
{
    const struct hm_replay_result *result = &report->result;
    json_t *object = json_score(&result->ours);
    json_t *more = json_pack("{s:I, s:I, s:I, s:f, s:I, s:o, s:o, s:o}", "promoted", (json_int_t)result->ours.promoted,
                             "demoted", (json_int_t)result->ours.demoted, "samples", (json_int_t)result->samples,
                             "decide_s", result->decide_s, "peak_bytes", (json_int_t)result->peak_bytes, "first_touch",
                             json_score(&report->first_touch), "static_oracle", json_score(&report->static_oracle),
                             "phase_oracle", json_score(&report->phase_oracle));
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
