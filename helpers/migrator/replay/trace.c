/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "migrator/decide/decide.h"

#define N_COUNTS 4
#define FEWEST_ROWS 4096

/* the state while a trace is parsed */
struct reader {
    const char *path;
    const char *at, *end;
    size_t line;
    bool has_columns;
    struct hm_trace *trace;
    uint64_t *row_page; /* page number by row */
    size_t room, phase_room;
    struct hm_error *error;
};

static int fail(const struct reader *reader, const char *what)
{
    return hm_fail(reader->error, EBADMSG, "%s:%zu: %s", reader->path, reader->line, what);
}

static int fail_memory(const struct reader *reader)
{
    return hm_fail(reader->error, ENOMEM, "%s: no memory for the trace", reader->path);
}

/* Reads digits of the base up to `end` or a comma. Moves *at past them. Returns 0, or -1. */
static int parse_number(const char **at, const char *end, unsigned base, uint64_t most, uint64_t *number)
{
    const char *start = *at;
    uint64_t value = 0;
    for (; *at < end && **at != ','; (*at)++) {
        char c = **at;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 99;
        if (digit >= base || value > (most - digit) / base)
            return -1;
        value = value * base + digit;
    }
    if (*at == start)
        return -1;
    *number = value;
    return 0;
}

static int add_phase(struct reader *reader)
{
    struct hm_trace *trace = reader->trace;
    if (trace->n_phases == reader->phase_room) {
        size_t room = 2 * reader->phase_room + 64;
        struct hm_trace_phase *phase = reallocarray(trace->phase, room, sizeof(*phase));
        if (!phase)
            return fail_memory(reader);
        trace->phase = phase;
        reader->phase_room = room;
    }
    trace->phase[trace->n_phases++] = (struct hm_trace_phase){.first = trace->n_rows};
    return 0;
}

static int add_row(struct reader *reader, uint64_t page, const uint64_t *count)
{
    struct hm_trace *trace = reader->trace;
    if (trace->n_rows == reader->room) {
        size_t room = 2 * reader->room + FEWEST_ROWS;
        struct hm_trace_row *row = reallocarray(trace->row, room, sizeof(*row));
        if (row)
            trace->row = row;
        uint64_t *row_page = row ? reallocarray(reader->row_page, room, sizeof(*row_page)) : NULL;
        if (!row_page)
            return fail_memory(reader);
        reader->row_page = row_page;
        reader->room = room;
    }
    reader->row_page[trace->n_rows] = page;
    trace->row[trace->n_rows++] = (struct hm_trace_row){.raw_reads = (uint32_t)count[0],
                                                        .raw_writes = (uint32_t)count[1],
                                                        .mem_reads = (uint32_t)count[2],
                                                        .mem_writes = (uint32_t)count[3]};
    trace->phase[trace->n_phases - 1].count++;
    return 0;
}

static int parse_row(struct reader *reader, const char *at, const char *end)
{
    struct hm_trace *trace = reader->trace;
    uint64_t phase, page, count[N_COUNTS];
    if (parse_number(&at, end, 10, UINT32_MAX, &phase) < 0)
        return fail(reader, "the first column is no phase: write a number");
    if (at++ == end || parse_number(&at, end, 16, (UINT64_C(1) << HM_PAGE_BITS) - 1, &page) < 0)
        return fail(reader, "the second column is no page: write a hexadecimal number below 400000000000");
    for (int i = 0; i < N_COUNTS; i++)
        if (at++ == end || parse_number(&at, end, 10, UINT32_MAX, &count[i]) < 0)
            return fail(reader, "four counts must follow the page: write numbers below 4294967296");
    if (at != end)
        return fail(reader, "there is something after the sixth column");
    if (phase > trace->n_phases || phase + 1 < trace->n_phases)
        return fail(reader, "phases are out of order: they count 0, 1, ...");
    if (phase == trace->n_phases) {
        if (add_phase(reader) < 0)
            return -1;
    } else if (page <= reader->row_page[trace->n_rows - 1]) {
        return fail(reader, "pages are out of order, or one is there twice: they ascend within a phase");
    }
    return add_row(reader, page, count);
}

/* The value after `key` ("# KEY: ") if the header line begins with it, or NULL. */
static const char *header_value(const char *at, const char *end, const char *key)
{
    size_t length = strlen(key);
    return (size_t)(end - at) > length && memcmp(at, key, length) == 0 ? at + length : NULL;
}

/* Reads seconds up to `end` or a space; 0 if they are none. */
static double parse_seconds(const char *at, const char *end)
{
    char text[24] = "";
    double seconds = 0;
    const char *space = memchr(at, ' ', (size_t)(end - at));
    size_t length = (size_t)((space ? space : end) - at);
    if (length < sizeof(text))
        memcpy(text, at, length);
    return hm_size_parse_amount(text, "", &seconds, NULL) == 0 ? seconds : 0;
}

static void parse_header(struct reader *reader, const char *at, const char *end)
{
    struct hm_trace *trace = reader->trace;
    const char *value = header_value(at, end, "# app: ");
    if (value) {
        size_t length = (size_t)(end - value);
        length = length < sizeof(trace->app) ? length : sizeof(trace->app) - 1;
        memcpy(trace->app, value, length);
        trace->app[length] = '\0';
    }
    value = header_value(at, end, "# phase_accesses: ");
    if (value) {
        const char *space = memchr(value, ' ', (size_t)(end - value));
        if (parse_number(&value, space ? space : end, 10, UINT64_MAX, &trace->phase_accesses) < 0)
            trace->phase_accesses = 0;
    }
    value = header_value(at, end, "# phase_seconds: ");
    if (value)
        trace->phase_s = parse_seconds(value, end);
}

static int parse_line(struct reader *reader, const char *at, const char *end)
{
    if (reader->has_columns)
        return parse_row(reader, at, end);
    if (at < end && *at == '#') {
        parse_header(reader, at, end);
        return 0;
    }
    if ((size_t)(end - at) != strlen(HM_TRACE_COLUMNS) || memcmp(at, HM_TRACE_COLUMNS, strlen(HM_TRACE_COLUMNS)) != 0)
        return fail(reader, "neither a header (#) nor the line of columns: " HM_TRACE_COLUMNS);
    reader->has_columns = true;
    return 0;
}

static int compare_pages(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Lists all pages, each once, and sets each row's index of its page. */
static int index_pages(struct reader *reader)
{
    struct hm_trace *trace = reader->trace;
    uint64_t *page = reallocarray(NULL, trace->n_rows, sizeof(*page));
    if (!page)
        return fail_memory(reader);
    memcpy(page, reader->row_page, trace->n_rows * sizeof(*page));
    qsort(page, trace->n_rows, sizeof(*page), compare_pages);
    for (size_t i = 0; i < trace->n_rows; i++)
        if (i == 0 || page[i] != page[i - 1])
            page[trace->n_pages++] = page[i];
    trace->page = page;
    for (size_t i = 0; i < trace->n_rows; i++) {
        const uint64_t *found = bsearch(&reader->row_page[i], page, trace->n_pages, sizeof(*page), compare_pages);
        trace->row[i].page = (uint32_t)(found - page);
    }
    return 0;
}

int hm_trace_parse(const char *path, const char *text, size_t length, struct hm_trace *trace, struct hm_error *error)
{
    struct reader reader = {.path = path, .at = text, .end = text + length, .trace = trace, .error = error};
    int result = 0;
    memset(trace, 0, sizeof(*trace));
    while (reader.at < reader.end && result == 0) {
        const char *newline = memchr(reader.at, '\n', (size_t)(reader.end - reader.at));
        const char *end = newline ? newline : reader.end;
        reader.line++;
        result = parse_line(&reader, reader.at, end);
        reader.at = newline ? newline + 1 : end;
    }
    if (result == 0 && trace->n_rows == 0)
        result = fail(&reader, "the trace ends before its first row");
    if (result == 0 && trace->n_rows > UINT32_MAX)
        result = fail(&reader, "there are more than 4294967295 rows");
    if (result == 0)
        result = index_pages(&reader);
    free(reader.row_page);
    if (result < 0)
        hm_trace_free(trace);
    return result;
}

void hm_trace_free(struct hm_trace *trace)
{
    free(trace->page);
    free(trace->row);
    free(trace->phase);
    memset(trace, 0, sizeof(*trace));
}
