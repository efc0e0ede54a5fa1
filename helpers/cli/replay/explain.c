/* SPDX-License-Identifier: Apache-2.0 */
#include "explain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "base/words.h"
#include "cli/draw/figures.h"
#include "cli/draw/table.h"
#include "tiers.h"

#define CELL HM_TABLE_CELL
#define INDENT 2      /* of a line's continuation */
#define SUMS_COLUMN 8 /* where the text beside a number of regions begins */
#define PAGE_SHIFT 12

/* The columns before those of the tiers, and those after them. */
enum { ADDRESSES, PAGES, N_BEFORE };
enum { READS, WRITES, NOISE, PRIORITY, VERDICT, N_AFTER };

static const struct hm_column before[N_BEFORE] = {
    [ADDRESSES] = {.title = "ADDRESSES"},
    [PAGES] = {.title = "PAGES", .is_right = true},
};
static const struct hm_column after[N_AFTER] = {
    [READS] = {.title = "READS", .is_right = true},
    [WRITES] = {.title = "WRITES", .is_right = true},
    [NOISE] = {.title = "NOISE", .is_right = true},
    [PRIORITY] = {.title = "PRIORITY", .is_right = true},
    [VERDICT] = {.title = "VERDICT"},
};

int hm_replayexplain_keep(struct hm_explained *explained, const struct hm_extent *extents, size_t count)
{
    explained->extent = malloc((count + 1) * sizeof(*extents));
    if (!explained->extent) {
        errno = ENOMEM;
        return -1;
    }
    if (count > 0)
        memcpy(explained->extent, extents, count * sizeof(*extents));
    explained->n_extents = count;
    return 0;
}

static uint64_t start_of(const struct hm_extent *extent)
{
    return HM_PAGE_NUMBER(extent->first) << PAGE_SHIFT;
}

static uint64_t end_of(const struct hm_extent *extent)
{
    return (HM_PAGE_NUMBER(extent->first) + extent->n_pages) << PAGE_SHIFT;
}

/* Writes a number with at most three digits: "950", "12.3k", "4.56M". */
static void format_count(double value, char *out)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P"};
    size_t unit = 0;
    for (; value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
        value /= 1000;
    snprintf(out, CELL, "%.*f%s", unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value, units[unit]);
}

static uint64_t present(const struct hm_explained *explained, const struct hm_extent *extent)
{
    uint64_t pages = 0;
    for (unsigned tier = 0; tier < explained->options->n_tiers; tier++)
        pages += extent->tier_pages[tier];
    return pages;
}

static void write_cell(const void *data, size_t row, size_t column, char cell[CELL])
{
    const struct hm_explained *explained = data;
    const struct hm_extent *extent = &explained->extent[row];
    const double samples[] = {[READS] = extent->reads, [WRITES] = extent->writes, [NOISE] = extent->noise};
    size_t n_tiers = explained->options->n_tiers, behind = column - N_BEFORE - n_tiers;
    if (column == ADDRESSES)
        snprintf(cell, CELL, "%012" PRIx64 "-%012" PRIx64, start_of(extent), end_of(extent));
    else if (column == PAGES)
        snprintf(cell, CELL, "%" PRIu64, present(explained, extent));
    else if (column < N_BEFORE + n_tiers)
        snprintf(cell, CELL, "%" PRIu64, extent->tier_pages[column - N_BEFORE]);
    else if (behind <= NOISE)
        format_count(samples[behind] * explained->options->period, cell);
    else if (behind == PRIORITY)
        snprintf(cell, CELL, "%.3g", extent->priority);
    else
        snprintf(cell, CELL, "%s", hm_verdict_text(extent->verdict));
}

static void print_sum(FILE *out, size_t screen, const struct hm_explained *explained, enum hm_verdict verdict)
{
    const struct hm_replay_options *options = explained->options;
    uint64_t pages[HM_MAX_TIERS] = {0};
    size_t count = 0, length = 0;
    char sums[HM_MAX_TIERS * (HM_NAME + 24)] = "", text[sizeof(sums) + 100];
    for (size_t i = 0; i < explained->n_extents; i++) {
        const struct hm_extent *extent = &explained->extent[i];
        count += extent->verdict == verdict;
        for (unsigned tier = 0; tier < options->n_tiers && extent->verdict == verdict; tier++)
            pages[tier] += extent->tier_pages[tier];
    }
    if (count == 0)
        return;
    for (unsigned tier = 0; tier < options->n_tiers; tier++)
        length += (size_t)snprintf(sums + length, sizeof(sums) - length, "%s%" PRIu64 " %s", tier > 0 ? ", " : "",
                                   pages[tier], options->tier[tier].name);
    snprintf(text, sizeof(text), "%s (%s pages): %s", hm_plural(count, "region ", "regions"), sums,
             hm_verdict_text(verdict));
    hm_words_put_row(out, screen, SUMS_COLUMN, text, "%7zu", count);
}

void hm_replayexplain_text(FILE *out, const struct hm_explained *explained)
{
    unsigned n_tiers = explained->options->n_tiers;
    struct hm_column columns[HM_TABLE_COLUMNS];
    char title[HM_MAX_TIERS][HM_NAME];
    const struct hm_table table = {columns, N_BEFORE + n_tiers + N_AFTER, explained->n_extents, write_cell, explained};
    memcpy(columns, before, sizeof(before));
    memcpy(columns + N_BEFORE + n_tiers, after, sizeof(after));
    for (unsigned tier = 0; tier < n_tiers; tier++)
        columns[N_BEFORE + tier] = (struct hm_column){
            .title = hm_replaytiers_title(&explained->options->tier[tier], title[tier]), .is_right = true};
    size_t screen = hm_words_columns(out);
    hm_words_put_text(out, screen, INDENT,
                      "Decided at the end of phase %zu; reads, writes and their noise are %s expected per phase:",
                      explained->phase, explained->unit);
    fputc('\n', out);
    hm_table_print(out, &table, screen);
    fputc('\n', out);
    for (enum hm_verdict verdict = 0; verdict < HM_VERDICTS; verdict++)
        print_sum(out, screen, explained, verdict);
}

static json_t *json_extent(const struct hm_explained *explained, const struct hm_extent *extent)
{
    const struct hm_replay_options *options = explained->options;
    char start[24], end[24];
    snprintf(start, sizeof(start), "0x%" PRIx64, start_of(extent));
    snprintf(end, sizeof(end), "0x%" PRIx64, end_of(extent));
    json_t *object = json_pack("{s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:I, s:s}", "start", start, "end", end,
                               "fast_pages", (json_int_t)extent->tier_pages[0], "slow_pages",
                               (json_int_t)(present(explained, extent) - extent->tier_pages[0]), "reads",
                               extent->reads * options->period, "writes", extent->writes * options->period, "noise",
                               extent->noise * options->period, "priority", extent->priority, "phases",
                               (json_int_t)extent->phases, "verdict", hm_verdict_text(extent->verdict));
    json_t *pages = options->unit_ns > 0 ? json_array() : NULL;
    for (unsigned tier = 0; tier < options->n_tiers && pages; tier++)
        json_array_append_new(pages, json_integer((json_int_t)extent->tier_pages[tier]));
    if (pages && json_object_set_new(object, "tier_pages", hm_figures_whole(pages, options->n_tiers)) < 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *hm_replayexplain_json(const struct hm_explained *explained)
{
    json_t *array = json_array();
    for (size_t i = 0; i < explained->n_extents; i++)
        json_array_append_new(array, json_extent(explained, &explained->extent[i]));
    return hm_figures_whole(array, explained->n_extents);
}
