/* SPDX-License-Identifier: Apache-2.0 */
#include "print.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/plural.h"
#include "base/size.h"
#include "base/words.h"
#include "load.h"
#include "migrator/replay/algorithms.h"
#include "placements.h"
#include "tiers.h"

#define PAGE 4096
#define INDENT 2 /* of a line's continuation */
/* share of first touch's AMAT (mean access time): a smaller difference is rounding, not a gain */
#define WORTH_GAINING 0.005

static const char *unit_of(const struct hm_replay_options *options)
{
    return options->sampled == HM_SAMPLED_RAW ? "raw" : "memory";
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

/* The best placement that never moves, or under load the least cost. */
static const char *choose_best(const struct hm_replay_report *report, double *amat)
{
    const struct hm_replay_options *options = report->options;
    if (options->load) {
        *amat = report->balanced.amat;
        return "balanced oracle";
    }
    *amat = options->unit_ns > 0 ? report->least_cost.amat : report->static_oracle.amat;
    return options->unit_ns > 0 ? "least-cost oracle" : "static oracle";
}

static void print_gain(FILE *out, size_t screen, const struct hm_replay_report *report)
{
    double ours = report->result.ours.amat, first = report->first_touch.amat, least;
    const char *best = choose_best(report, &least);
    double possible = first - least;
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

/* The trace and the size of the tiers. */
static void print_head(FILE *out, size_t screen, const struct hm_replay_report *report)
{
    const struct hm_replay_options *options = report->options;
    const struct hm_trace *trace = report->trace;
    uint64_t fast_pages = hm_replay_capacity(trace, options->tier[0].share);
    char name[80], all[24], size[24], fast[80] = "";
    if (options->unit_ns == 0)
        snprintf(fast, sizeof(fast), "; fast tier %.6g %%: %" PRIu64 " %s (%s)", 100 * options->tier[0].share,
                 fast_pages, hm_plural(fast_pages, "page", "pages"),
                 hm_size_format(fast_pages * PAGE, size, sizeof(size)));
    hm_words_put_text(out, screen, INDENT, "%s: %zu %s (%s) in %zu %s%s", format_name(report, name, sizeof(name)),
                      trace->n_pages, hm_plural(trace->n_pages, "page", "pages"),
                      hm_size_format((uint64_t)trace->n_pages * PAGE, all, sizeof(all)), trace->n_phases,
                      hm_plural(trace->n_phases, "phase", "phases"), fast);
    if (options->unit_ns > 0)
        hm_replaytiers_list(out, screen, report);
}

static void print_meaning(FILE *out, size_t screen, const struct hm_replay_report *report)
{
    const struct hm_replay_options *options = report->options;
    if (options->load)
        hm_replayload_text(out, screen, INDENT, options);
    else if (options->unit_ns > 0)
        hm_replaytiers_text(out, screen, INDENT, report);
    else
        hm_words_put_text(
            out, screen, INDENT,
            "Accesses: the share that the fast tier served. AMAT: 1 is all fast; a slow read costs %.6g, a "
            "slow write %.6g.",
            options->tier[1].read, options->tier[1].write);
}

void hm_replayprint_text(FILE *out, const struct hm_replay_report *report)
{
    const struct hm_replay_options *options = report->options;
    size_t screen = hm_words_columns(out);
    char peak[24];
    print_head(out, screen, report);
    fputc('\n', out);
    hm_replayplacements_print(out, report, screen);
    fputc('\n', out);
    print_meaning(out, screen, report);
    hm_words_put_text(out, screen, INDENT,
                      "Samples: %" PRIu64 ", one in %.6g %s accesses; deciding took %.3f s of CPU time and at most %s "
                      "of memory.",
                      report->result.samples, options->period, unit_of(options), report->result.decide_s,
                      hm_size_format(report->result.peak_bytes, peak, sizeof(peak)));
    print_gain(out, screen, report);
}
