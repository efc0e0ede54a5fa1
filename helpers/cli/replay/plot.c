/* SPDX-License-Identifier: Apache-2.0 */
#include "plot.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/draw/svg.h"

#define MOST_ROWS 320
#define MOST_COLUMNS 120
#define MOST_SEGMENTS 16
#define LEAST_HOLE 256 /* pages: smaller holes are not shown */

/* The smallest power-of-two hole that leaves few enough segments. */
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

/* Cut the pages into segments, these into rows. */
static void lay_out_rows(struct hm_plot *plot)
{
    const struct hm_trace *trace = plot->trace;
    uint64_t hole = choose_hole(trace);
    for (size_t i = 0; i < trace->n_pages; i++) {
        struct hm_plot_segment *last = plot->segment + plot->n_segments - 1;
        if (i == 0 || trace->page[i] - trace->page[i - 1] > hole) {
            last = plot->segment + plot->n_segments++;
            *last = (struct hm_plot_segment){.first_page = i, .first_row = plot->n_rows};
        }
        if (last->n_pages++ % plot->pages_per_row == 0) {
            last->n_rows++;
            plot->n_rows++;
        }
        plot->row_of_page[i] = (uint32_t)(plot->n_rows - 1);
        plot->row_pages[plot->n_rows - 1]++;
    }
}

int hm_plot_begin(struct hm_plot *plot, const struct hm_trace *trace)
{
    const size_t most_rows = MOST_ROWS + MOST_SEGMENTS;
    *plot = (struct hm_plot){.trace = trace};
    plot->n_columns = trace->n_phases < MOST_COLUMNS ? trace->n_phases : MOST_COLUMNS;
    plot->pages_per_row = (trace->n_pages + MOST_ROWS - 1) / MOST_ROWS;
    plot->segment = calloc(MOST_SEGMENTS, sizeof(*plot->segment));
    plot->row_of_page = calloc(trace->n_pages + 1, sizeof(*plot->row_of_page));
    plot->row_pages = calloc(most_rows, sizeof(double));
    plot->column_phases = calloc(MOST_COLUMNS, sizeof(double));
    plot->heat = calloc(MOST_COLUMNS * most_rows, sizeof(double));
    plot->fast = calloc(MOST_COLUMNS * most_rows, sizeof(double));
    plot->served = calloc(MOST_COLUMNS, sizeof(double));
    plot->total = calloc(MOST_COLUMNS, sizeof(double));
    if (!plot->segment || !plot->row_of_page || !plot->row_pages || !plot->column_phases || !plot->heat ||
        !plot->fast || !plot->served || !plot->total) {
        hm_plot_free(plot);
        errno = ENOMEM;
        return -1;
    }
    lay_out_rows(plot);
    return 0;
}

void hm_plot_free(struct hm_plot *plot)
{
    free(plot->segment);
    free(plot->row_of_page);
    free(plot->row_pages);
    free(plot->column_phases);
    free(plot->heat);
    free(plot->fast);
    free(plot->served);
    free(plot->total);
    *plot = (struct hm_plot){0};
}

void hm_plot_add_phase(struct hm_plot *plot, size_t phase, const bool *is_fast)
{
    const struct hm_trace *trace = plot->trace;
    const struct hm_trace_row *row = trace->row + trace->phase[phase].first;
    size_t column = phase * plot->n_columns / trace->n_phases;
    plot->column_phases[column]++;
    for (size_t i = 0; i < trace->phase[phase].count; i++, row++) {
        double accesses = (double)row->mem_reads + row->mem_writes;
        plot->heat[column * plot->n_rows + plot->row_of_page[row->page]] += accesses;
        plot->total[column] += accesses;
        plot->served[column] += is_fast[row->page] ? accesses : 0;
    }
    for (size_t i = 0; i < trace->n_pages; i++)
        plot->fast[column * plot->n_rows + plot->row_of_page[i]] += is_fast[i];
}

struct picture {
    const struct hm_plot *plot;
    const struct hm_replay_report *report;
};

static void draw(FILE *out, const void *picture)
{
    const struct picture *whole = picture;
    hm_plot_draw(out, whole->plot, whole->report);
}

int hm_plot_write(const char *path, const struct hm_plot *plot, const struct hm_replay_report *report,
                  struct hm_error *error)
{
    const struct picture picture = {plot, report};
    return hm_svg_write(path, draw, &picture, error);
}
