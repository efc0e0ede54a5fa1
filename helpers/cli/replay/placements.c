/* SPDX-License-Identifier: Apache-2.0 */
#include "placements.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "cli/draw/table.h"
#include "migrator/replay/algorithms.h"
#include "tiers.h"

enum kind { NAME, AMAT, SHARE_MEM, SHARE_RAW, SLOW_WRITES, TIER_MEM, MOVED, FAST_NS, SLOW_NS, KINDS };

static const struct hm_column columns[KINDS] = {
    [NAME] = {.title = "PLACEMENT", .least = 24},
    [AMAT] = {.title = "AMAT", .is_right = true, .least = 6},
    [SHARE_MEM] = {.title = "MEMORY ACCESSES", .is_right = true},
    [SHARE_RAW] = {.title = "RAW ACCESSES", .is_right = true},
    [SLOW_WRITES] = {.title = "SLOW WRITES", .is_right = true},
    [TIER_MEM] = {.is_right = true, .least = 9}, /* its title is the tier's name */
    [MOVED] = {.title = "PAGES MOVED", .is_right = true},
    [FAST_NS] = {.title = "FAST LATENCY", .is_right = true},
    [SLOW_NS] = {.title = "SLOW LATENCY", .is_right = true},
};

/* The table: a row for each placement, and which columns it has. */
struct layout {
    const struct hm_replay_report *report;
    size_t n_columns, n_rows;
    struct hm_column column[HM_TABLE_COLUMNS];
    enum kind kind[HM_TABLE_COLUMNS];
    unsigned tier[HM_TABLE_COLUMNS];
    char title[HM_MAX_TIERS][HM_NAME];
    const char *name[6];
    const struct hm_score *score[6];
};

static void add_column(struct layout *layout, enum kind kind, unsigned tier)
{
    size_t n = layout->n_columns++;
    layout->column[n] = columns[kind];
    layout->kind[n] = kind;
    layout->tier[n] = tier;
    if (kind == TIER_MEM)
        layout->column[n].title = hm_replaytiers_title(&layout->report->options->tier[tier], layout->title[tier]);
}

static void add_row(struct layout *layout, const char *name, const struct hm_score *score)
{
    layout->name[layout->n_rows] = name;
    layout->score[layout->n_rows++] = score;
}

/* Tiers that the user has named have a column each, and the least cost of all placements is told. */
static void lay_out(struct layout *layout, const struct hm_replay_report *report)
{
    const struct hm_replay_options *options = report->options;
    bool has_names = options->unit_ns > 0;
    *layout = (struct layout){.report = report};
    add_column(layout, NAME, 0);
    add_column(layout, AMAT, 0);
    for (unsigned tier = 0; tier < options->n_tiers && has_names; tier++)
        add_column(layout, TIER_MEM, tier);
    for (enum kind kind = SHARE_MEM; kind <= SLOW_WRITES && !has_names; kind++)
        add_column(layout, kind, 0);
    add_column(layout, MOVED, 0);
    for (enum kind kind = FAST_NS; kind <= SLOW_NS && options->load; kind++)
        add_column(layout, kind, 0);
    add_row(layout, "ours", &report->result.ours);
    add_row(layout, "first touch", &report->first_touch);
    add_row(layout, "static oracle", &report->static_oracle);
    if (has_names)
        add_row(layout, "least-cost oracle", &report->least_cost);
    add_row(layout, "per-phase oracle", &report->phase_oracle);
    if (options->load)
        add_row(layout, "balanced oracle", &report->balanced);
}

/* Writes a dash if the figure is undefined, as the trace has no accesses of its kind. */
static void write_figure(double value, int decimals, const char *unit, char cell[HM_TABLE_CELL])
{
    if (isfinite(value))
        snprintf(cell, HM_TABLE_CELL, "%.*f%s", decimals, value, unit);
    else
        snprintf(cell, HM_TABLE_CELL, "-");
}

static void write_name(const struct layout *layout, size_t row, char cell[HM_TABLE_CELL])
{
    const char *algorithm = layout->report->options->algorithm;
    if (row > 0 || hm_replay_is_rival(algorithm))
        snprintf(cell, HM_TABLE_CELL, "%s", row > 0 ? layout->name[row] : algorithm);
    else
        snprintf(cell, HM_TABLE_CELL, "%s (%s)", layout->name[row], algorithm);
}

static void write_cell(const void *data, size_t row, size_t column, char cell[HM_TABLE_CELL])
{
    const struct layout *layout = data;
    const struct hm_score *score = layout->score[row];
    const double figures[KINDS] = {
        [AMAT] = score->amat,
        [SHARE_MEM] = 100 * score->share_mem,
        [SHARE_RAW] = 100 * score->share_raw,
        [SLOW_WRITES] = 100 * score->slow_writes,
        [TIER_MEM] = 100 * score->tier_mem[layout->tier[column]],
        [FAST_NS] = score->fast_ns,
        [SLOW_NS] = score->slow_ns,
    };
    enum kind kind = layout->kind[column];
    if (kind == NAME)
        write_name(layout, row, cell);
    else if (kind == MOVED)
        snprintf(cell, HM_TABLE_CELL, "%" PRIu64, score->promoted + score->demoted);
    else if (kind == AMAT)
        write_figure(figures[kind], 3, "", cell);
    else if (kind >= FAST_NS)
        write_figure(figures[kind], 0, " ns", cell);
    else
        write_figure(figures[kind], 1, " %", cell);
}

void hm_replayplacements_print(FILE *out, const struct hm_replay_report *report, size_t screen)
{
    struct layout layout;
    lay_out(&layout, report);
    const struct hm_table table = {layout.column, layout.n_columns, layout.n_rows, write_cell, &layout};
    hm_table_print(out, &table, screen);
}
