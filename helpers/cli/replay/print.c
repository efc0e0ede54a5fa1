/* SPDX-License-Identifier: Apache-2.0 */
#include "print.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/size.h"
#include "base/words.h"
#include "cli/draw/table.h"
#include "load.h"
#include "migrator/replay/algorithms.h"

#define PAGE 4096
#define INDENT 2 /* of a line's continuation */
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

/* The columns of the table, which has a row for each placement. The last two are shown only under load, as
 * the last row is. */
enum { NAME, AMAT, SHARE_MEM, SHARE_RAW, SLOW_WRITES, MOVED, FAST_NS, SLOW_NS, N_COLUMNS };
#define N_LOAD_COLUMNS 2

static const struct hm_column columns[N_COLUMNS] = {
    [NAME] = {.title = "PLACEMENT", .least = 24},
    [AMAT] = {.title = "AMAT", .is_right = true, .least = 6},
    [SHARE_MEM] = {.title = "MEMORY ACCESSES", .is_right = true},
    [SHARE_RAW] = {.title = "RAW ACCESSES", .is_right = true},
    [SLOW_WRITES] = {.title = "SLOW WRITES", .is_right = true},
    [MOVED] = {.title = "PAGES MOVED", .is_right = true},
    [FAST_NS] = {.title = "FAST LATENCY", .is_right = true},
    [SLOW_NS] = {.title = "SLOW LATENCY", .is_right = true},
};

/* Writes a dash if the share is undefined, as the trace has no accesses of its kind. */
static void write_share(double share, char cell[HM_TABLE_CELL])
{
    if (isfinite(share))
        snprintf(cell, HM_TABLE_CELL, "%.1f %%", 100 * share);
    else
        snprintf(cell, HM_TABLE_CELL, "-");
}

static void write_latency(double latency_ns, char cell[HM_TABLE_CELL])
{
    if (isfinite(latency_ns))
        snprintf(cell, HM_TABLE_CELL, "%.0f ns", latency_ns);
    else
        snprintf(cell, HM_TABLE_CELL, "-");
}

static void write_name(const struct hm_replay_report *report, size_t row, char cell[HM_TABLE_CELL])
{
    static const char *const names[] = {"ours", "first touch", "static oracle", "per-phase oracle", "balanced oracle"};
    const char *algorithm = report->options->algorithm;
    if (row > 0 || hm_replay_is_rival(algorithm))
        snprintf(cell, HM_TABLE_CELL, "%s", row > 0 ? names[row] : algorithm);
    else
        snprintf(cell, HM_TABLE_CELL, "%s (%s)", names[row], algorithm);
}

static void write_cell(const void *data, size_t row, size_t column, char cell[HM_TABLE_CELL])
{
    const struct hm_replay_report *report = data;
    const struct hm_score *scores[] = {&report->result.ours, &report->first_touch, &report->static_oracle,
                                       &report->phase_oracle, &report->balanced};
    const struct hm_score *score = scores[row];
    switch (column) {
    case NAME:
        write_name(report, row, cell);
        break;
    case AMAT:
        if (isfinite(score->amat))
            snprintf(cell, HM_TABLE_CELL, "%.3f", score->amat);
        else
            snprintf(cell, HM_TABLE_CELL, "-");
        break;
    case SHARE_MEM:
        write_share(score->share_mem, cell);
        break;
    case SHARE_RAW:
        write_share(score->share_raw, cell);
        break;
    case SLOW_WRITES:
        write_share(score->slow_writes, cell);
        break;
    case FAST_NS:
        write_latency(score->fast_ns, cell);
        break;
    case SLOW_NS:
        write_latency(score->slow_ns, cell);
        break;
    default:
        snprintf(cell, HM_TABLE_CELL, "%" PRIu64, score->promoted + score->demoted);
    }
}

static void print_gain(FILE *out, size_t screen, const struct hm_replay_report *report)
{
    double ours = report->result.ours.amat, first = report->first_touch.amat;
    const char *best = report->options->load ? "balanced oracle" : "static oracle";
    double possible = first - (report->options->load ? report->balanced.amat : report->static_oracle.amat);
    double worse = 100 * (ours - first) / first;
    char text[160], more[80] = "";
    if (!isfinite(first))
        snprintf(text, sizeof(text), "There is nothing to gain here: the trace has no accesses to memory");
    else if (possible < WORTH_GAINING * first)
        snprintf(text, sizeof(text), "There is nothing to gain here: the %s is no better than first touch", best);
    else if (ours <= first)
        snprintf(text, sizeof(text), "%.0f %% of the possible gain from first touch to the %s was reached",
                 100 * (first - ours) / possible, best);
    else
        snprintf(text, sizeof(text), "Nothing was gained, where the %s is %.1f %% better than first touch", best,
                 100 * possible / first);
    if (worse > 0.05)
        snprintf(more, sizeof(more), "; %s is %.1f %% worse than first touch",
                 hm_replay_is_rival(report->options->algorithm) ? report->options->algorithm : "ours", worse);
    hm_words_put_text(out, screen, INDENT, "%s%s.", text, more);
}

void hm_replayprint_text(FILE *out, const struct hm_replay_report *report)
{
    const struct hm_replay_options *options = report->options;
    const struct hm_trace *trace = report->trace;
    const struct hm_table table = {columns, options->load ? N_COLUMNS : N_COLUMNS - N_LOAD_COLUMNS,
                                   options->load ? 5 : 4, write_cell, report};
    uint64_t fast_pages = hm_replay_capacity(trace, options->tier[0].share);
    size_t screen = hm_words_columns(out);
    char name[80], all[24], fast[24], peak[24];
    hm_words_put_text(out, screen, INDENT,
                      "%s: %zu page%s (%s) in %zu phase%s; fast tier %.6g %%: %" PRIu64 " page%s (%s)",
                      format_name(report, name, sizeof(name)), trace->n_pages, plural(trace->n_pages),
                      hm_size_format((uint64_t)trace->n_pages * PAGE, all, sizeof(all)), trace->n_phases,
                      plural(trace->n_phases), 100 * options->tier[0].share, fast_pages, plural(fast_pages),
                      hm_size_format(fast_pages * PAGE, fast, sizeof(fast)));
    fputc('\n', out);
    hm_table_print(out, &table, screen);
    fputc('\n', out);
    if (options->load)
        hm_replayload_text(out, screen, INDENT, options);
    else
        hm_words_put_text(
            out, screen, INDENT,
            "Accesses: the share that the fast tier served. AMAT: 1 is all fast; a slow read costs %.6g, a "
            "slow write %.6g.",
            options->tier[1].read, options->tier[1].write);
    hm_words_put_text(out, screen, INDENT,
                      "Samples: %" PRIu64 ", one in %.6g %s accesses; deciding took %.3f s of CPU time and at most %s "
                      "of memory.",
                      report->result.samples, options->period, unit_of(options), report->result.decide_s,
                      hm_size_format(report->result.peak_bytes, peak, sizeof(peak)));
    print_gain(out, screen, report);
}

static json_t *json_share(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *json_score(const struct hm_replay_report *report, const struct hm_score *score)
{
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:o, s:I}", "amat", json_share(score->amat), "share_mem",
                  json_share(score->share_mem), "share_raw", json_share(score->share_raw), "slow_writes",
                  json_share(score->slow_writes), "pages_moved", (json_int_t)(score->promoted + score->demoted));
    if (object && report->options->load) {
        json_object_set_new(object, "fast_ns", json_share(score->fast_ns));
        json_object_set_new(object, "slow_ns", json_share(score->slow_ns));
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

/* Under load there is no fixed latency. */
static json_t *json_latency(const struct hm_replay_options *options, double latency)
{
    return options->load ? json_null() : json_real(latency);
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
