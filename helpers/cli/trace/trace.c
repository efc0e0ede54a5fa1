/* SPDX-License-Identifier: Apache-2.0 */
/* hybridmem-trace: records the page trace of a program, which hybridmem replay reads. */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "header.h"

#define NAME "hybridmem trace"
#define SHOW_MS 1000    /* between two texts of progress */
#define PAUSE_NS 300000 /* between two reads */

struct work {
    struct hm_trace_options options;
    struct hm_recording recording;
    struct hm_valgrind valgrind;
    struct hm_program program;
    bool shows_progress, has_shown;
    int64_t shown_ms;
};

static void show_progress(struct work *work)
{
    const struct hm_recording_sums *sums = &work->recording.sums;
    int64_t now = hm_clock_ms(CLOCK_MONOTONIC);
    if (!work->shows_progress || now - work->shown_ms < SHOW_MS)
        return;
    work->shown_ms = now;
    work->has_shown = true;
    fprintf(stderr, "\r\033[K" NAME ": phase %" PRIu64 ", %.1f million loads and stores", work->recording.phase,
            (double)(sums->raw_reads + sums->raw_writes) / 1e6);
}

/* Waits until there are many lines: a reader that waits for each would be woken for each, which takes longer than all
 * else. At Valgrind's pace the socket is full after about this time. */
static void pause_reading(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    nanosleep(&pause, NULL);
}

/* Follows the program and all processes of it to their end, or until it is left. */
static void follow(struct work *work)
{
    enum { OUTPUT, SIGNALS, N_EVENTS };
    bool has_output = true;
    while ((has_output || !work->program.has_ended) && !work->program.is_left) {
        struct pollfd events[N_EVENTS] = {
            [OUTPUT] = {.fd = has_output ? work->valgrind.socket : -1, .events = POLLIN},
            [SIGNALS] = {.fd = work->program.signals, .events = POLLIN},
        };
        if (poll(events, N_EVENTS, -1) < 0)
            continue;
        if (events[OUTPUT].revents)
            has_output = hm_valgrind_read(&work->valgrind);
        if (events[SIGNALS].revents)
            hm_program_attend(&work->program);
        show_progress(work);
        if (has_output)
            pause_reading();
    }
    work->program.is_left &= has_output; /* a signal that came with the end of all has left nothing out */
    if (work->has_shown)
        fputs("\r\033[K", stderr);
}

/* Writes the end of the trace. Returns 0, or -1 with a text. */
static int finish(struct work *work, struct hm_error *error)
{
    const struct hm_recording_sums *sums = &work->recording.sums;
    if (work->valgrind.error.text[0])
        return hm_fail(error, EIO, "no trace: %s", work->valgrind.error.text);
    if (hm_recording_end(&work->recording, error) != 0)
        return -1;
    if (work->recording.n_rows == 0)
        return hm_fail(error, ENODATA, "no trace: Valgrind has shown no load or store of %s", work->options.program[0]);
    char *header = hm_traceheader_make(&work->options, &work->valgrind, &work->program);
    if (!header)
        return hm_fail(error, ENOMEM, "no trace: out of memory");
    int result = hm_tracewriter_end(&work->recording.writer, header, error);
    free(header);
    if (result == 0 && work->program.is_left)
        fputs(NAME ": stopped by a signal; processes of the program still run, and are not in the trace to their end\n",
              stderr);
    if (result == 0 && sums->left_out > 0)
        fprintf(stderr,
                NAME ": loads and stores that are not in the trace: %" PRIu64
                     "; it has room for %u processes, and addresses below 2^48\n",
                sums->left_out, HM_RECORDING_SPACES);
    if (result == 0 && work->valgrind.n_unknown > 0)
        fprintf(stderr,
                NAME ": lines of Valgrind's that were not understood: %" PRIu64 "; counts may lack what they say\n",
                work->valgrind.n_unknown);
    return result;
}

static int trace(struct work *work, struct hm_error *error)
{
    const struct hm_trace_options *options = &work->options;
    if (hm_recording_init(&work->recording, options->output, options->phase_accesses, options->cache_bytes, error) != 0)
        return HM_TRACE_FAILED;
    if (hm_valgrind_start(&work->valgrind, &work->recording, &work->program, options->program, error) != 0)
        return errno == ENOENT ? HM_TRACE_NOT_FOUND : errno == EACCES ? HM_TRACE_CANNOT_RUN : HM_TRACE_FAILED;
    work->shows_progress = isatty(STDERR_FILENO);
    work->shown_ms = hm_clock_ms(CLOCK_MONOTONIC); /* nothing is shown of short programs */
    follow(work);
    return finish(work, error) == 0 ? 0 : HM_TRACE_FAILED;
}

int main(int argc, char **argv)
{
    struct hm_error error = {""};
    struct work work = {.valgrind = {.socket = -1}};
    int status = hm_traceoptions_parse(argc, argv, &work.options);
    if (status >= 0)
        return status;
    status = trace(&work, &error);
    hm_valgrind_free(&work.valgrind);
    hm_recording_free(&work.recording);
    if (status != 0)
        return hm_traceoptions_fail(status, error.text);
    return hm_program_end(&work.program);
}
