/* SPDX-License-Identifier: Apache-2.0 */
#include "grid.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/draw/figures.h"

#define FULL_ROWS 320 /* rows if all are full; a segment may add one, as its last row need not be full */
#define MOST_SEGMENTS 16
#define MOST_ROWS (FULL_ROWS + MOST_SEGMENTS)
#define MOST_COLUMNS 120
#define LEAST_HOLE 256 /* pages: smaller holes are not shown */
#define PAGE_SHIFT 12

struct row {
    uint64_t first_page; /* number of the page, not its index in the trace */
    size_t n_pages;      /* pages of the trace that are in the row: those in holes do not count */
    size_t segment;      /* number of the segment, a run of rows without a large hole between them */
};

/* The counts are sums over the column's phases. */
struct column {
    size_t first_phase, n_phases;
    uint64_t accesses, fast_accesses; /* to memory: all of them, and those that the fast tier served */
    uint64_t row_accesses[MOST_ROWS], row_fast_pages[MOST_ROWS];
};

struct hm_grid {
    const struct hm_trace *trace;
    size_t n_rows, n_columns;
    struct row row[MOST_ROWS];
    struct column column[MOST_COLUMNS];
    uint32_t *row_of_page; /* by page index */
};

/* Chooses how large a hole ends a segment: the least power of two, from LEAST_HOLE pages on, with at most MOST_SEGMENTS
 * segments. */
static uint64_t choose_hole(const struct hm_trace *trace)
{
    for (uint64_t hole = LEAST_HOLE;; hole *= 2) {
        size_t count = 1;
        for (size_t i = 1; i < trace->n_pages; i++)
            count += trace->page[i] - trace->page[i - 1] > hole;
        if (count <= MOST_SEGMENTS)
            return hole;
    }
}

/* A new row begins after a hole, and when the last row is full. */
static void lay_out_rows(struct hm_grid *grid)
{
    const struct hm_trace *trace = grid->trace;
    const uint64_t hole = choose_hole(trace);
    const size_t most_pages = (trace->n_pages + FULL_ROWS - 1) / FULL_ROWS;
    for (size_t i = 0; i < trace->n_pages; i++) {
        struct row *last = i > 0 ? &grid->row[grid->n_rows - 1] : NULL;
        bool is_behind_hole = last && trace->page[i] - trace->page[i - 1] > hole;
        if (!last || is_behind_hole || last->n_pages == most_pages)
            grid->row[grid->n_rows++] =
                (struct row){.first_page = trace->page[i], .segment = last ? last->segment + is_behind_hole : 0};
        grid->row[grid->n_rows - 1].n_pages++;
        grid->row_of_page[i] = (uint32_t)(grid->n_rows - 1);
    }
}

struct hm_grid *hm_grid_new(const struct hm_trace *trace)
{
    struct hm_grid *grid = calloc(1, sizeof(*grid));
    uint32_t *row_of_page = calloc(trace->n_pages + 1, sizeof(*row_of_page));
    if (!grid || !row_of_page) {
        free(grid);
        free(row_of_page);
        errno = ENOMEM;
        return NULL;
    }
    grid->trace = trace;
    grid->row_of_page = row_of_page;
    grid->n_columns = trace->n_phases < MOST_COLUMNS ? trace->n_phases : MOST_COLUMNS;
    lay_out_rows(grid);
    return grid;
}

void hm_grid_free(struct hm_grid *grid)
{
    if (grid)
        free(grid->row_of_page);
    free(grid);
}

void hm_grid_add_phase(struct hm_grid *grid, size_t phase, const uint8_t *tier)
{
    const struct hm_trace *trace = grid->trace;
    const struct hm_trace_row *row = trace->row + trace->phase[phase].first;
    struct column *column = &grid->column[phase * grid->n_columns / trace->n_phases];
    if (column->n_phases++ == 0)
        column->first_phase = phase;
    for (size_t i = 0; i < trace->phase[phase].count; i++, row++) {
        uint64_t accesses = (uint64_t)row->mem_reads + row->mem_writes;
        column->row_accesses[grid->row_of_page[row->page]] += accesses;
        column->accesses += accesses;
        column->fast_accesses += tier[row->page] == 0 ? accesses : 0;
    }
    for (size_t i = 0; i < trace->n_pages; i++)
        column->row_fast_pages[grid->row_of_page[i]] += tier[i] == 0;
}

static json_t *json_row(const struct row *row)
{
    char start[24];
    snprintf(start, sizeof(start), "0x%" PRIx64, row->first_page << PAGE_SHIFT);
    return json_pack("{s:s, s:I, s:I}", "start", start, "pages", (json_int_t)row->n_pages, "segment",
                     (json_int_t)row->segment);
}

static json_t *json_counts(const uint64_t *count, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, json_integer((json_int_t)count[i]));
    return hm_figures_whole(array, n);
}

static json_t *json_column(const struct column *column, size_t n_rows)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:o, s:o}", "phase", (json_int_t)column->first_phase, "phases",
                     (json_int_t)column->n_phases, "accesses", (json_int_t)column->accesses, "fast_accesses",
                     (json_int_t)column->fast_accesses, "row_accesses", json_counts(column->row_accesses, n_rows),
                     "row_fast_pages", json_counts(column->row_fast_pages, n_rows));
}

json_t *hm_grid_json(const struct hm_grid *grid)
{
    json_t *rows = json_array(), *columns = json_array();
    for (size_t i = 0; i < grid->n_rows; i++)
        json_array_append_new(rows, json_row(&grid->row[i]));
    for (size_t i = 0; i < grid->n_columns; i++)
        json_array_append_new(columns, json_column(&grid->column[i], grid->n_rows));
    return json_pack("{s:o, s:o}", "rows", hm_figures_whole(rows, grid->n_rows), "columns",
                     hm_figures_whole(columns, grid->n_columns));
}
