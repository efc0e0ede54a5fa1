/* SPDX-License-Identifier: Apache-2.0 */
#include "read.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "process.h"
#include "program.h"

#define START_PATIENCE_MS 20000 /* starting takes time, as components look at all devices of a node */

#define MOST_LINES (HM_PAPI_MOST_EVENTS + 100) /* most lines of a description: events, and PAPI's components */

struct hm_papi_reader {
    enum hm_papi_program program;
    struct hm_papi_process process;
    unsigned n; /* events that were described */
    struct hm_papi_event event[HM_PAPI_MOST_EVENTS];
    struct hm_error problem;
    struct hm_error outs; /* why components are not in use */
    unsigned n_lines;     /* lines of the description so far */
    bool is_described;    /* all lines before the readings have come */
    bool is_awaited;      /* a description or an answer is awaited, until `until_ms` */
    int64_t until_ms;
    bool is_late;             /* it did not answer in time; its answer may still come, and is dropped then */
    bool is_answered;         /* `line` holds a reading */
    struct hm_papi_line line; /* the last line */
    size_t have;              /* bytes in `text` */
    char text[HM_PAPI_LINE_SIZE];
};

static const char *name_of(const struct hm_papi_reader *reader)
{
    return hm_papi_programs[reader->program].name;
}

/* The program has closed its output, or said that it cannot go on: keep what became of it as the problem, unless it
 * gave a problem itself. Returns -1. */
static int tell_end(struct hm_papi_reader *reader)
{
    int status = hm_papi_process_end(&reader->process);
    if (reader->problem.text[0])
        return -1;
    if (status < 0)
        return hm_fail(&reader->problem, ENODEV, "%s has closed its output", name_of(reader));
    if (WIFSIGNALED(status))
        return hm_fail(&reader->problem, ENODEV, "%s was killed by signal %d", name_of(reader), WTERMSIG(status));
    return hm_fail(&reader->problem, ENODEV, "%s ended with %d%s", name_of(reader), WEXITSTATUS(status),
                   WEXITSTATUS(status) == 127 ? hm_papi_programs[reader->program].of_127 : "");
}

/* The program does not behave as it should: end it. Returns -1. */
static int give_up(struct hm_papi_reader *reader)
{
    hm_papi_process_stop(&reader->process, SIGKILL);
    return -1;
}

/* The length of the first line in the text, with its newline; 0 where it is not complete. */
static size_t first_line(const struct hm_papi_reader *reader)
{
    const char *newline = memchr(reader->text, '\n', reader->have);
    return newline ? (size_t)(newline - reader->text) + 1 : 0;
}

/* Take the next line, waiting for it until `wait_ms` (a time of CLOCK_MONOTONIC). Returns 0; 1 where it may still come;
 * or -1 with a problem, after the program was ended, or as it is late. */
static int take_line(struct hm_papi_reader *reader, int64_t wait_ms)
{
    size_t length;
    while ((length = first_line(reader)) == 0) {
        struct pollfd event = {.fd = reader->process.answer, .events = POLLIN};
        int64_t left = (wait_ms < reader->until_ms ? wait_ms : reader->until_ms) - hm_clock_ms(CLOCK_MONOTONIC);
        int ready = poll(&event, 1, left > 0 ? (int)left : 0);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0 && hm_clock_ms(CLOCK_MONOTONIC) < reader->until_ms)
            return 1;
        if (ready <= 0 || reader->have == sizeof(reader->text)) {
            hm_fail(&reader->problem, ETIMEDOUT, "%s %s", name_of(reader),
                    ready <= 0 ? "does not answer" : "does not end its lines");
            reader->is_late = ready == 0 && reader->is_described && hm_papi_programs[reader->program].may_be_late;
            return reader->is_late ? -1 : give_up(reader);
        }
        ssize_t got = read(reader->process.answer, reader->text + reader->have, sizeof(reader->text) - reader->have);
        if (got <= 0)
            return tell_end(reader);
        reader->have += (size_t)got;
    }
    reader->text[length - 1] = '\0';
    struct hm_error wrong = {"a zero byte"};
    bool is_line = strlen(reader->text) == length - 1 && hm_papi_line_parse(reader->text, &reader->line, &wrong) == 0;
    reader->have -= length;
    memmove(reader->text, reader->text + length, reader->have);
    if (!is_line) {
        hm_fail(&reader->problem, EBADMSG, "%s wrote %s", name_of(reader), wrong.text);
        return give_up(reader);
    }
    if (reader->line.type != HM_PAPI_LINE_ERROR)
        return 0;
    hm_fail(&reader->problem, EIO, "%s", reader->line.text);
    return tell_end(reader);
}

static int fail_order(struct hm_papi_reader *reader)
{
    hm_fail(&reader->problem, EBADMSG, "%s wrote its lines in another order, or is of another version",
            name_of(reader));
    return give_up(reader);
}

/* Collect why components are not in use, in case there is no event at all. */
static void note_component(struct hm_papi_reader *reader)
{
    size_t used = strlen(reader->outs.text), size = sizeof(reader->outs.text);
    if (!reader->line.is_in)
        snprintf(reader->outs.text + used, size - used, "%s%s: %s", used ? "; " : "", reader->line.name,
                 reader->line.text);
}

/* Take the lines before the readings. Returns what take_line returns. */
static int take_description(struct hm_papi_reader *reader, int64_t wait_ms)
{
    int result;
    while ((result = take_line(reader, wait_ms)) == 0) {
        const struct hm_papi_line *line = &reader->line;
        bool is_first = reader->n_lines++ == 0;
        if (is_first != (line->type == hm_papi_programs[reader->program].first) || reader->n_lines > MOST_LINES)
            return fail_order(reader);
        if (line->type == HM_PAPI_LINE_READY && line->number == reader->n) {
            reader->is_described = true;
            return 0;
        }
        if (line->type == HM_PAPI_LINE_COMPONENT)
            note_component(reader);
        else if (line->type == HM_PAPI_LINE_EVENT && line->number == reader->n)
            reader->event[reader->n++] = line->event;
        else if (!is_first)
            return fail_order(reader);
    }
    return result;
}

static int take_answer(struct hm_papi_reader *reader, int64_t wait_ms)
{
    int result = take_line(reader, wait_ms);
    if (result != 0)
        return result;
    if (reader->line.type != HM_PAPI_LINE_READ || reader->line.number != reader->n)
        return fail_order(reader);
    reader->is_answered = true;
    return 0;
}

static void await(struct hm_papi_reader *reader, int patience_ms)
{
    reader->until_ms = hm_clock_ms(CLOCK_MONOTONIC) + patience_ms;
    reader->is_awaited = true;
}

struct hm_papi_reader *hm_papi_reader_begin(enum hm_papi_program program, const char *path, int patience_ms,
                                            struct hm_error *error)
{
    struct hm_papi_reader *reader = calloc(1, sizeof(*reader));
    if (!reader) {
        hm_fail(error, ENOMEM, "no memory to read from %s", hm_papi_programs[program].name);
        return NULL;
    }
    reader->program = program;
    int number = hm_papi_process_start(&reader->process, path, hm_papi_programs[program].name,
                                       hm_papi_programs[program].variable);
    if (number == 0) {
        await(reader, patience_ms);
        return reader;
    }
    if (number == ENOENT)
        hm_fail(error, number, "%s", hm_papi_programs[program].missing);
    else
        hm_fail(error, number, "cannot start %s: %s", path, strerror(number));
    hm_papi_reader_stop(reader);
    return NULL;
}

int hm_papi_reader_described(const struct hm_papi_reader *reader, struct hm_error *error)
{
    if (reader->problem.text[0])
        return hm_fail(error, EIO, "%s", reader->problem.text);
    if (!reader->is_described)
        return hm_fail(error, EAGAIN, "%s has not said what it counts", name_of(reader));
    if (reader->n == 0)
        return hm_fail(error, ENOENT, "%s",
                       reader->outs.text[0] ? reader->outs.text : hm_papi_programs[reader->program].empty);
    return 0;
}

struct hm_papi_reader *hm_papi_reader_start(enum hm_papi_program program, const char *path, struct hm_error *error)
{
    struct hm_papi_reader *reader = hm_papi_reader_begin(program, path, START_PATIENCE_MS, error);
    if (!reader)
        return NULL;
    hm_papi_reader_take(reader, START_PATIENCE_MS);
    if (hm_papi_reader_described(reader, error) == 0)
        return reader;
    hm_papi_reader_stop(reader);
    return NULL;
}

bool hm_papi_reader_is_awaited(const struct hm_papi_reader *reader)
{
    return reader->is_awaited;
}

int hm_papi_reader_poll(const struct hm_papi_reader *reader, int *left_ms)
{
    int64_t left = reader->until_ms - hm_clock_ms(CLOCK_MONOTONIC);
    *left_ms = left > 0 ? (int)left : 0;
    return reader->process.answer;
}

bool hm_papi_reader_take(struct hm_papi_reader *reader, int wait_ms)
{
    int64_t until_ms = hm_clock_ms(CLOCK_MONOTONIC) + wait_ms;
    if (reader->is_awaited)
        reader->is_awaited =
            (reader->is_described ? take_answer(reader, until_ms) : take_description(reader, until_ms)) > 0;
    return !reader->is_awaited;
}

unsigned hm_papi_reader_count(const struct hm_papi_reader *reader)
{
    return reader->n;
}

const struct hm_papi_event *hm_papi_reader_event(const struct hm_papi_reader *reader, unsigned i)
{
    return &reader->event[i];
}

/* Drop an answer that has come after its time. Returns whether the program can be asked again. */
static bool drop_late(struct hm_papi_reader *reader)
{
    int64_t now_ms = hm_clock_ms(CLOCK_MONOTONIC);
    reader->until_ms = now_ms + HM_PAPI_ANSWER_MS; /* do not give it up now */
    int result = take_answer(reader, now_ms);
    reader->is_answered = false;
    if (result != 0)
        return false;
    reader->is_late = false;
    reader->problem = (struct hm_error){""};
    return true;
}

void hm_papi_reader_ask(struct hm_papi_reader *reader)
{
    reader->is_answered = false;
    if (reader->process.pid == 0 || (reader->is_late && !drop_late(reader)))
        return;
    /* If the program has ended, its last lines are still in the pipe: sending fails, and they are read. */
    (void)send(reader->process.ask, "\n", 1, MSG_NOSIGNAL);
    await(reader, HM_PAPI_ANSWER_MS);
}

void hm_papi_reader_hurry(struct hm_papi_reader *reader, int patience_ms)
{
    int left_ms;
    hm_papi_reader_poll(reader, &left_ms);
    if (left_ms > patience_ms)
        reader->until_ms = hm_clock_ms(CLOCK_MONOTONIC) + patience_ms;
}

void hm_papi_reader_finish(struct hm_papi_reader *reader)
{
    while (!hm_papi_reader_take(reader, HM_PAPI_ANSWER_MS))
        continue;
}

void hm_papi_reader_read(struct hm_papi_reader *reader)
{
    hm_papi_reader_ask(reader);
    hm_papi_reader_finish(reader);
}

int hm_papi_reader_value(const struct hm_papi_reader *reader, unsigned i, uint64_t *value)
{
    if (!reader->is_answered)
        return ENODEV;
    *value = reader->line.value[i];
    return reader->line.is_known[i] ? 0 : EBADMSG;
}

const char *hm_papi_reader_problem(const struct hm_papi_reader *reader)
{
    return reader->problem.text;
}

void hm_papi_reader_stop(struct hm_papi_reader *reader)
{
    if (!reader)
        return;
    hm_papi_process_stop(&reader->process, 0);
    free(reader);
}
