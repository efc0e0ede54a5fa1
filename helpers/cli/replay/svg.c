/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drawing the grid of a replay. Heat is a scale of colours whose lightness changes all the way, and the fast tier is a
 * shape: both are told apart without seeing colours. The light and the dark theme are in the one file.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "cli/draw/svg.h"
#include "plot.h"

#define PAGE_SHIFT 12
#define LEVELS 16    /* of heat, the hottest cell in the last */
#define PER_DECADE 4 /* levels for each power of ten */
#define LEFT 132
#define TOP 126
#define MOST_HEIGHT 672
#define MOST_WIDTH 840
#define GAP 7        /* between segments */
#define SHARE_TOP 34 /* below the map: the plot of the share that the fast tier served */
#define SHARE_HEIGHT 72
#define BOTTOM 36
#define RIGHT 96
#define LINE 12       /* between labels */
#define LABEL_STEP 84 /* between addresses inside a segment */

/* From pale yellow over red to nearly black, and on a dark page from dark violet over red to pale yellow. */
static const char *const on_light[LEVELS] = {"#fbf996", "#f7e05c", "#f8c42f", "#fca50a", "#f68913", "#ee6f21",
                                             "#e05735", "#ce4546", "#b93656", "#9f2b61", "#862169", "#6d186e",
                                             "#54106b", "#3b0a60", "#200b43", "#0d0724"};
static const char *const on_dark[LEVELS] = {"#420a68", "#57116b", "#6c186e", "#81206a", "#972865", "#ac305b",
                                            "#c13b50", "#d24843", "#e15834", "#ed6d23", "#f58315", "#fa9a0e",
                                            "#fab31b", "#f7cd3a", "#f8e465", "#fbf996"};

struct frame {
    FILE *out;
    const struct hm_plot *plot;
    unsigned row_height, column_width, map_width, map_height;
    double top_heat; /* the upper end of the last level */
};

static double heat_of(const struct hm_plot *plot, size_t column, size_t row)
{
    return plot->heat[column * plot->n_rows + row] / plot->row_pages[row] / plot->column_phases[column];
}

static double fast_of(const struct hm_plot *plot, size_t column, size_t row)
{
    return plot->fast[column * plot->n_rows + row] / plot->row_pages[row] / plot->column_phases[column];
}

static unsigned clamp(size_t value, unsigned least, unsigned most)
{
    return value < least ? least : value > most ? most : (unsigned)value;
}

static struct frame measure(FILE *out, const struct hm_plot *plot)
{
    struct frame frame = {.out = out, .plot = plot};
    double hottest = 1;
    for (size_t column = 0; column < plot->n_columns; column++)
        for (size_t row = 0; row < plot->n_rows; row++)
            hottest = fmax(hottest, heat_of(plot, column, row));
    frame.top_heat = pow(10, ceil(PER_DECADE * log10(hottest) - 1e-9) / PER_DECADE);
    frame.row_height = clamp(MOST_HEIGHT / plot->n_rows, 2, 28);
    frame.column_width = clamp(MOST_WIDTH / plot->n_columns, 7, 60);
    frame.map_width = frame.column_width * (unsigned)plot->n_columns;
    frame.map_height = frame.row_height * (unsigned)plot->n_rows + GAP * (unsigned)(plot->n_segments - 1);
    if (frame.map_width < 480)
        frame.map_width = 480; /* room for the title and the legend */
    return frame;
}

static unsigned x_of(const struct frame *frame, size_t column)
{
    return LEFT + frame->column_width * (unsigned)column;
}

static unsigned y_of(const struct frame *frame, size_t segment, size_t row)
{
    return TOP + frame->row_height * (unsigned)row + GAP * (unsigned)segment;
}

static void put_style(const struct frame *frame)
{
    FILE *out = frame->out;
    fprintf(out, "<style>\n%s", hm_svg_on_light);
    for (int level = 0; level < LEVELS; level++)
        fprintf(out, ".h%d{fill:%s}", level, on_light[level]);
    fprintf(out, "\n@media(prefers-color-scheme:dark){%s", hm_svg_on_dark);
    for (int level = 0; level < LEVELS; level++)
        fprintf(out, ".h%d{fill:%s}", level, on_dark[level]);
    fputs("}\n</style>\n", out);
}

static void put_title(const struct frame *frame, const struct hm_replay_report *report)
{
    char name[80];
    FILE *out = frame->out;
    hm_replayprint_name(report, name, sizeof(name));
    fprintf(out, "<text class=\"title\" x=\"%d\" y=\"30\">", LEFT);
    hm_svg_put_text(out, name);
    fprintf(out, ", fast tier %.6g %%</text>\n", 100 * report->options->fast);
    if (!isfinite(report->first_touch.amat)) {
        fprintf(out, "<text class=\"sub\" x=\"%d\" y=\"51\">no accesses to memory</text>\n", LEFT);
        return;
    }
    fprintf(out,
            "<text class=\"sub\" x=\"%d\" y=\"51\">AMAT %.2f with %s; first touch %.2f, static oracle %.2f</text>\n",
            LEFT, report->result.ours.amat, report->options->algorithm, report->first_touch.amat,
            report->static_oracle.amat);
}

/* "1", "10", "1k": powers of ten. */
static void format_power(int power, char out[16])
{
    static const char *const units[] = {"", "k", "M", "G", "T"};
    static const char *const ones[] = {"1", "10", "100"};
    snprintf(out, 16, "%s%s", ones[power % 3], units[power / 3 % 5]);
}

static void put_legend(const struct frame *frame)
{
    const int box = 20, first = 68, second = 102;
    FILE *out = frame->out;
    int top = (int)lround(PER_DECADE * log10(frame->top_heat));
    fprintf(out, "<g id=\"legend\">\n");
    for (int level = 0; level < LEVELS; level++) {
        char text[16];
        int bound = top - LEVELS + level; /* the level's lower end is 10^(bound / PER_DECADE) */
        fprintf(out, "<rect class=\"h%d\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"11\"/>\n", level, LEFT + box * level,
                first, box);
        if (bound < 0 || bound % PER_DECADE != 0)
            continue;
        format_power(bound / PER_DECADE, text);
        fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", LEFT + box * level, first + 23,
                text);
    }
    fprintf(out, "<text x=\"%d\" y=\"%d\">accesses to memory per page and phase</text>\n", LEFT + box * LEVELS + 10,
            first + 10);
    fprintf(out, "<rect class=\"empty\" x=\"%d\" y=\"%d\" width=\"20\" height=\"11\"/>\n", LEFT, second);
    fprintf(out, "<text x=\"%d\" y=\"%d\">none</text>\n", LEFT + 27, second + 10);
    fprintf(out, "<rect class=\"fast\" x=\"%d\" y=\"%d\" width=\"7\" height=\"11\"/>\n", LEFT + 80, second);
    fprintf(out, "<text x=\"%d\" y=\"%d\">in the fast tier, as wide as its share</text>\n", LEFT + 94, second + 10);
    fputs("</g>\n", out);
}

/* What a cell shows, as one number. */
typedef int read_cell(const struct frame *frame, size_t column, size_t row);

/* 0: no access at all. */
static int read_heat(const struct frame *frame, size_t column, size_t row)
{
    double heat = heat_of(frame->plot, column, row);
    if (heat <= 0)
        return 0;
    int below = (int)floor(PER_DECADE * log10(frame->top_heat / heat) + 1e-9);
    return below >= LEVELS ? 1 : LEVELS - below;
}

/* In percent of the pages. */
static int read_fast(const struct frame *frame, size_t column, size_t row)
{
    return (int)ceil(100 * fast_of(frame->plot, column, row) - 1e-9);
}

/* Draw the cells with least <= value <= most as one path: rows that follow each other and have one value are one
 * rectangle, `width` or, with `is_share`, so many percent of it wide. */
static void put_cells(const struct frame *frame, read_cell *read, int least, int most, unsigned offset, unsigned width,
                      bool is_share)
{
    const struct hm_plot *plot = frame->plot;
    for (size_t at = 0; at < plot->n_columns * plot->n_segments; at++) {
        size_t column = at / plot->n_segments, i = at % plot->n_segments, next;
        size_t end = plot->segment[i].first_row + plot->segment[i].n_rows;
        unsigned x = x_of(frame, column) + offset;
        for (size_t row = plot->segment[i].first_row; row < end; row = next) {
            int value = read(frame, column, row);
            for (next = row + 1; next < end && read(frame, column, next) == value;)
                next++;
            if (value >= least && value <= most)
                fprintf(frame->out, "M%u %uh%.4gv%uH%uz", x, y_of(frame, i, row),
                        is_share ? width * value / 100.0 : width, frame->row_height * (unsigned)(next - row), x);
        }
    }
}

static void put_map(const struct frame *frame)
{
    FILE *out = frame->out;
    unsigned bar = frame->column_width / 4 < 12 ? frame->column_width / 4 : 12;
    unsigned width = frame->column_width - bar - 2;
    fputs("<g id=\"heat\" shape-rendering=\"crispEdges\">\n", out);
    for (int level = 0; level <= LEVELS; level++) {
        if (level == 0)
            fputs("<path class=\"empty\" d=\"", out);
        else
            fprintf(out, "<path class=\"h%d\" d=\"", level - 1);
        put_cells(frame, read_heat, level, level, 0, width, false);
        fputs("\"/>\n", out);
    }
    fputs("</g>\n<path id=\"placement\" class=\"fast\" d=\"", out);
    put_cells(frame, read_fast, 1, 100, width, bar, true);
    fputs("\"/>\n", out);
}

static void put_addresses(const struct frame *frame)
{
    const struct hm_plot *plot = frame->plot;
    FILE *out = frame->out;
    unsigned last = 0;
    fputs("<g id=\"addresses\">\n", out);
    for (size_t i = 0; i < plot->n_segments; i++) {
        const struct hm_plot_segment *segment = &plot->segment[i];
        for (size_t at = 0; at < segment->n_rows; at += 1 + (LABEL_STEP - 1) / frame->row_height) {
            unsigned y = y_of(frame, i, segment->first_row + at);
            if (last > 0 && y < last + LINE)
                continue;
            last = y;
            fprintf(out, "<text class=\"mono\" x=\"%d\" y=\"%u\" text-anchor=\"end\">%" PRIx64 "</text>\n", LEFT - 8,
                    y + 8, plot->trace->page[segment->first_page + at * plot->pages_per_row] << PAGE_SHIFT);
        }
    }
    fputs("</g>\n", out);
}

static void put_sizes(const struct frame *frame)
{
    const struct hm_plot *plot = frame->plot;
    for (size_t i = 0; i < plot->n_segments; i++) {
        const struct hm_plot_segment *segment = &plot->segment[i];
        unsigned height = frame->row_height * (unsigned)segment->n_rows;
        char size[24];
        if (height >= LINE)
            fprintf(frame->out, "<text x=\"%u\" y=\"%u\">%s</text>\n", x_of(frame, plot->n_columns) + 8,
                    y_of(frame, i, segment->first_row) + height / 2 + 4,
                    hm_size_format((uint64_t)segment->n_pages << PAGE_SHIFT, size, sizeof(size)));
    }
}

/* The share of the accesses to memory that the fast tier served in each phase. */
static void put_shares(const struct frame *frame, double share_mem)
{
    const struct hm_plot *plot = frame->plot;
    FILE *out = frame->out;
    unsigned top = TOP + frame->map_height + SHARE_TOP, right = x_of(frame, plot->n_columns);
    fputs("<g id=\"shares\" shape-rendering=\"crispEdges\">\n", out);
    for (unsigned percent = 0; percent <= 100; percent += 50) {
        unsigned y = top + SHARE_HEIGHT - SHARE_HEIGHT * percent / 100;
        fprintf(out, "<line class=\"grid\" x1=\"%d\" y1=\"%u\" x2=\"%u\" y2=\"%u\"/>\n", LEFT, y, right, y);
        fprintf(out, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">%u %%</text>\n", LEFT - 8, y + 4, percent);
    }
    for (size_t column = 0; column < plot->n_columns; column++) {
        double share = plot->total[column] > 0 ? plot->served[column] / plot->total[column] : 0;
        fprintf(out, "<rect class=\"fast\" x=\"%u\" y=\"%.2f\" width=\"%u\" height=\"%.2f\"/>\n", x_of(frame, column),
                top + SHARE_HEIGHT * (1 - share), frame->column_width - 1, SHARE_HEIGHT * share);
    }
    fputs("</g>\n", out);
    fprintf(out, "<text x=\"%d\" y=\"%u\">accesses to memory that the fast tier served", LEFT, top - 9);
    if (isfinite(share_mem))
        fprintf(out, ": %.1f %% in all", 100 * share_mem);
    fputs("</text>\n", out);
}

static void put_phases(const struct frame *frame)
{
    const struct hm_plot *plot = frame->plot;
    FILE *out = frame->out;
    unsigned y = TOP + frame->map_height + SHARE_TOP + SHARE_HEIGHT + 15;
    size_t step = 1 + 27 / frame->column_width;
    fputs("<g id=\"phases\">\n", out);
    for (size_t column = 0; column < plot->n_columns; column += step)
        fprintf(out, "<text x=\"%u\" y=\"%u\" text-anchor=\"middle\">%zu</text>\n",
                x_of(frame, column) + frame->column_width / 2, y,
                (column * plot->trace->n_phases + plot->n_columns - 1) / plot->n_columns);
    fprintf(out, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">phase</text>\n</g>\n", LEFT - 8, y);
}

void hm_plot_draw(FILE *out, const struct hm_plot *plot, const struct hm_replay_report *report)
{
    struct frame frame = measure(out, plot);
    unsigned width = LEFT + frame.map_width + RIGHT;
    unsigned height = TOP + frame.map_height + SHARE_TOP + SHARE_HEIGHT + BOTTOM;
    hm_svg_put_start(out, width, height);
    put_style(&frame);
    fprintf(out, "<rect class=\"page\" width=\"%u\" height=\"%u\"/>\n", width, height);
    put_title(&frame, report);
    put_legend(&frame);
    put_map(&frame);
    put_addresses(&frame);
    put_sizes(&frame);
    put_shares(&frame, report->result.ours.share_mem);
    put_phases(&frame);
    fputs("</svg>\n", out);
}
