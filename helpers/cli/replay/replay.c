/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem-replay: runs the migrator's decision code on a recorded trace, and compares the result with first touch and
 * the best placements there are.
 */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"
#include "cli/draw/figures.h"
#include "cli/draw/picture.h"
#include "core/apply/loadfile.h"
#include "explain.h"
#include "grid.h"
#include "load.h"
#include "options.h"
#include "print.h"

#define NAME "hybridmem replay"
/* Progress is shown while a trace of more bytes than this is read, and while one of more rows than this is replayed. */
#define LONG_TRACE 100000

/* One run, with everything that its watch function needs. */
struct work {
    struct hm_replay_words options;
    struct hm_trace trace;
    struct hm_load load;
    struct hm_replay_report report;
    struct hm_explained explained;
    struct hm_grid *grid; /* NULL: the user asks for no picture */
    bool shows_progress, has_no_memory;
};

static void show_progress(const struct work *work, const char *text)
{
    if (work->shows_progress)
        fprintf(stderr, "\r\033[K" NAME ": %s", text);
}

static void end_progress(struct work *work)
{
    if (work->shows_progress)
        fputs("\r\033[K", stderr);
    work->shows_progress = false;
}

/* Called at the end of each phase. */
static void watch_phase(void *data, size_t phase, const struct hm_extent *extents, size_t n_extents,
                        const uint8_t *tier, const struct hm_move *moves, size_t n_moves)
{
    struct work *work = data;
    char text[64];
    (void)moves;
    (void)n_moves;
    snprintf(text, sizeof(text), "phase %zu of %zu", phase + 1, work->trace.n_phases);
    show_progress(work, text);
    if (work->options.has_explain && phase == work->options.explain &&
        hm_replayexplain_keep(&work->explained, extents, n_extents) < 0)
        work->has_no_memory = true;
    if (work->grid)
        hm_grid_add_phase(work->grid, phase, tier);
}

/* Returns 0, or the exit status with a text in `error`. */
static int replay(struct work *work, struct hm_error *error)
{
    const struct hm_replay_options *options = &work->options.replay;
    struct hm_replay_report *report = &work->report;
    if (work->options.plot && !(work->grid = hm_grid_new(&work->trace)))
        goto no_memory;
    if (hm_replay_run(&work->trace, options, watch_phase, work, &report->result, error) < 0)
        return errno == EINVAL ? HM_REPLAY_BAD : HM_REPLAY_FAILED;
    show_progress(work, "the best placements");
    if (work->has_no_memory || hm_replay_first_touch(&work->trace, options, &report->first_touch) < 0 ||
        hm_replay_static_oracle(&work->trace, options, &report->static_oracle) < 0 ||
        hm_replay_phase_oracle(&work->trace, options, &report->phase_oracle) < 0 ||
        (options->unit_ns > 0 && hm_replay_least_cost(&work->trace, options, &report->least_cost) < 0) ||
        (options->load && hm_replay_balanced(&work->trace, options, &report->balanced) < 0))
        goto no_memory;
    return 0;
no_memory:
    hm_fail(error, ENOMEM, "out of memory");
    return HM_REPLAY_FAILED;
}

static int read_trace(struct work *work, struct hm_error *error)
{
    struct stat status;
    work->shows_progress = isatty(STDERR_FILENO);
    if (stat(work->options.path, &status) == 0 && status.st_size > LONG_TRACE)
        show_progress(work, "reading the trace");
    if (hm_trace_read(work->options.path, &work->trace, error) < 0)
        return HM_REPLAY_FAILED;
    work->shows_progress = work->shows_progress && work->trace.n_rows > LONG_TRACE;
    work->report.path = work->options.path;
    work->report.trace = &work->trace;
    work->report.options = &work->options.replay;
    if (work->options.has_explain && work->options.explain >= work->trace.n_phases) {
        hm_fail(error, EINVAL, "--explain: there is no phase %" PRIu64 ": the trace has phases 0 to %zu",
                work->options.explain, work->trace.n_phases - 1);
        return HM_REPLAY_BAD;
    }
    work->explained.phase = work->options.explain;
    work->explained.options = &work->options.replay;
    work->explained.unit = work->options.replay.sampled == HM_SAMPLED_RAW ? "raw accesses" : "memory accesses";
    return 0;
}

/* Reads the file of the tiers under load; the trace is there. Returns 0, or the exit status. */
static int read_load(struct work *work, struct hm_error *error)
{
    struct hm_replay_options *options = &work->options.replay;
    if (!work->options.load)
        return 0;
    if (options->phase_s == 0)
        options->phase_s = work->trace.phase_s;
    if (options->phase_s == 0) {
        hm_fail(error, EINVAL,
                "--load: the trace does not say how long a phase takes: give --phase-time, as in --phase-time 0.25s");
        return HM_REPLAY_BAD;
    }
    if (hm_loadfile_read(work->options.load, &work->load, error) < 0)
        return HM_REPLAY_FAILED;
    options->load = &work->load;
    return 0;
}

static void print_text(FILE *out, const struct work *work)
{
    hm_replayprint_text(out, &work->report);
    if (work->options.has_explain) {
        fputc('\n', out);
        hm_replayexplain_text(out, &work->explained);
    }
}

/*
 * The picture comes last, as this process then becomes the program that draws. Returns 0, or the exit status: with a
 * text in `error`, or with an empty text if the message is already printed.
 */
static int show(const struct work *work, struct hm_error *error)
{
    const struct hm_replay_words *options = &work->options;
    FILE *out = hm_picture_choose_output(options->plot);
    json_t *figures = NULL;
    int result = 0;
    if (options->json || options->plot)
        figures = hm_replayprint_json(&work->report, options->has_explain ? &work->explained : NULL, work->grid);
    if (!options->json)
        print_text(out, work);
    else
        result = hm_figures_put(out, figures, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    int status = hm_output_end(NAME, result, 0);
    if (status == 0 && options->plot) {
        hm_picture_draw("replay", "--plot", options->plot, figures, error);
        status = HM_REPLAY_FAILED;
    }
    json_decref(figures);
    return status;
}

int main(int argc, char **argv)
{
    struct hm_error error = {""};
    struct work work = {0};
    int status = hm_replayoptions_parse(argc, argv, &work.options);
    if (status >= 0)
        return status;
    status = read_trace(&work, &error);
    if (status == 0)
        status = read_load(&work, &error);
    if (status == 0)
        status = replay(&work, &error);
    end_progress(&work);
    if (status == 0)
        status = show(&work, &error);
    if (status && error.text[0])
        hm_replayoptions_fail(status, error.text);
    free(work.explained.extent);
    hm_grid_free(work.grid);
    hm_trace_free(&work.trace);
    return status;
}
