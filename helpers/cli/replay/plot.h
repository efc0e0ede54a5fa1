/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture of a replay: heat over addresses and phases, with what the fast tier held on it. The grid is filled while
 * the replay runs, then drawn as one SVG.
 */
#ifndef HM_CLI_REPLAY_PLOT_H
#define HM_CLI_REPLAY_PLOT_H

#include <stdio.h>

#include "print.h"

struct hm_plot_segment {        /* pages without a large hole between them */
    size_t first_page, n_pages; /* indices into the trace's pages */
    size_t first_row, n_rows;
};

struct hm_plot {
    const struct hm_trace *trace;
    size_t n_columns, n_rows, n_segments;
    size_t pages_per_row; /* a segment's last row may have fewer */
    struct hm_plot_segment *segment;
    uint32_t *row_of_page;
    double *row_pages;      /* by row */
    double *column_phases;  /* by column */
    double *heat, *fast;    /* by column, then row: accesses to memory; pages in the fast tier, summed over phases */
    double *served, *total; /* by column: accesses to memory, from the fast tier and in all */
};

/* Lay out the rows and columns of a trace. Returns 0 (free with hm_plot_free), or -1 (ENOMEM). */
int hm_plot_begin(struct hm_plot *plot, const struct hm_trace *trace);

/* Add a phase and the placement that served it (by page index). */
void hm_plot_add_phase(struct hm_plot *plot, size_t phase, const bool *is_fast);

void hm_plot_free(struct hm_plot *plot);

/* Draw it. Errors are those of `out`. */
void hm_plot_draw(FILE *out, const struct hm_plot *plot, const struct hm_replay_report *report);

/* Draw it into a file that is there in full or not at all. Returns 0, or -1 with the errno of the file system. */
int hm_plot_write(const char *path, const struct hm_plot *plot, const struct hm_replay_report *report,
                  struct hm_error *error);

#endif
