/* SPDX-License-Identifier: Apache-2.0 */
#include "explain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "cli/draw/figures.h"
#include "cli/draw/table.h"

#define CELL HM_TABLE_CELL
#define INDENT 2      /* of a line's continuation */
#define SUMS_COLUMN 8 /* where the text beside a number of regions begins */
#define PAGE_SHIFT 12

enum { ADDRESSES, PAGES, FAST, SLOW, READS, WRITES, NOISE, PRIORITY, VERDICT, N_COLUMNS };

static const struct hm_column columns[N_COLUMNS] = {
    [ADDRESSES] = {.title = "ADDRESSES"},
    [PAGES] = {.title = "PAGES", .is_right = true},
    [FAST] = {.title = "FAST", .is_right = true},
    [SLOW] = {.title = "SLOW", .is_right = true},
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

static void write_cell(const void *data, size_t row, size_t column, char cell[CELL])
{
    const struct hm_explained *explained = data;
    const struct hm_extent *extent = &explained->extent[row];
    const uint64_t pages[] = {[PAGES] = extent->tier_pages[0] + extent->tier_pages[1],
                              [FAST] = extent->tier_pages[0],
                              [SLOW] = extent->tier_pages[1]};
    const double samples[] = {[READS] = extent->reads, [WRITES] = extent->writes, [NOISE] = extent->noise};
    if (column == ADDRESSES)
        snprintf(cell, CELL, "%012" PRIx64 "-%012" PRIx64, start_of(extent), end_of(extent));
    else if (column <= SLOW)
        snprintf(cell, CELL, "%" PRIu64, pages[column]);
    else if (column <= NOISE)
        format_count(samples[column] * explained->period, cell);
    else if (column == PRIORITY)
        snprintf(cell, CELL, "%.3g", extent->priority);
    else
        snprintf(cell, CELL, "%s", hm_verdict_text(extent->verdict));
}

static void print_sums(FILE *out, size_t screen, const struct hm_explained *explained)
{
    size_t count[HM_VERDICTS] = {0};
    uint64_t fast[HM_VERDICTS] = {0}, slow[HM_VERDICTS] = {0};
    char text[160];
    for (size_t i = 0; i < explained->n_extents; i++) {
        const struct hm_extent *extent = &explained->extent[i];
        count[extent->verdict]++;
        fast[extent->verdict] += extent->tier_pages[0];
        slow[extent->verdict] += extent->tier_pages[1];
    }
    for (int verdict = 0; verdict < HM_VERDICTS; verdict++) {
        snprintf(text, sizeof(text), "region%s (%" PRIu64 " fast, %" PRIu64 " slow pages): %s",
                 count[verdict] == 1 ? " " : "s", fast[verdict], slow[verdict],
                 hm_verdict_text((enum hm_verdict)verdict));
        if (count[verdict] > 0)
            hm_words_put_row(out, screen, SUMS_COLUMN, text, "%7zu", count[verdict]);
    }
}

void hm_replayexplain_text(FILE *out, const struct hm_explained *explained)
{
    const struct hm_table table = {columns, N_COLUMNS, explained->n_extents, write_cell, explained};
    size_t screen = hm_words_columns(out);
    hm_words_put_text(out, screen, INDENT,
                      "Decided at the end of phase %zu; reads, writes and their noise are %s expected per phase:",
                      explained->phase, explained->unit);
    fputc('\n', out);
    hm_table_print(out, &table, screen);
    fputc('\n', out);
    print_sums(out, screen, explained);
}

static json_t *json_extent(const struct hm_explained *explained, const struct hm_extent *extent)
{
    char start[24], end[24];
    snprintf(start, sizeof(start), "0x%" PRIx64, start_of(extent));
    snprintf(end, sizeof(end), "0x%" PRIx64, end_of(extent));
    return json_pack("{s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:I, s:s}", "start", start, "end", end, "fast_pages",
                     (json_int_t)extent->tier_pages[0], "slow_pages", (json_int_t)extent->tier_pages[1], "reads",
                     extent->reads * explained->period, "writes", extent->writes * explained->period, "noise",
                     extent->noise * explained->period, "priority", extent->priority, "phases",
                     (json_int_t)extent->phases, "verdict", hm_verdict_text(extent->verdict));
}

json_t *hm_replayexplain_json(const struct hm_explained *explained)
{
    json_t *array = json_array();
    for (size_t i = 0; i < explained->n_extents; i++)
        json_array_append_new(array, json_extent(explained, &explained->extent[i]));
    return hm_figures_whole(array, explained->n_extents);
}
