/* SPDX-License-Identifier: Apache-2.0 */
#include "explain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define N_COLUMNS 9
#define CELL 64
#define PAGE_SHIFT 12

static const char *const titles[N_COLUMNS] = {"ADDRESSES", "PAGES", "FAST",     "SLOW",   "READS",
                                              "WRITES",    "NOISE", "PRIORITY", "VERDICT"};

typedef char row_text[N_COLUMNS][CELL];

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

static void format_row(const struct hm_explained *explained, const struct hm_extent *extent, row_text cells)
{
    snprintf(cells[0], CELL, "%012" PRIx64 "-%012" PRIx64, start_of(extent), end_of(extent));
    snprintf(cells[1], CELL, "%" PRIu64, extent->fast_pages + extent->slow_pages);
    snprintf(cells[2], CELL, "%" PRIu64, extent->fast_pages);
    snprintf(cells[3], CELL, "%" PRIu64, extent->slow_pages);
    format_count(extent->reads * explained->period, cells[4]);
    format_count(extent->writes * explained->period, cells[5]);
    format_count(extent->noise * explained->period, cells[6]);
    snprintf(cells[7], CELL, "%.3g", extent->priority);
    snprintf(cells[8], CELL, "%s", hm_verdict_text(extent->verdict));
}

/* The first and the last column are left-aligned; numbers are right-aligned. */
static void print_row(FILE *out, row_text cells, const int *width)
{
    fprintf(out, "%-*s", width[0], cells[0]);
    for (int i = 1; i < N_COLUMNS - 1; i++)
        fprintf(out, "  %*s", width[i], cells[i]);
    fprintf(out, "  %s\n", cells[N_COLUMNS - 1]);
}

static void print_sums(FILE *out, const struct hm_explained *explained)
{
    size_t count[HM_VERDICTS] = {0};
    uint64_t fast[HM_VERDICTS] = {0}, slow[HM_VERDICTS] = {0};
    for (size_t i = 0; i < explained->n_extents; i++) {
        const struct hm_extent *extent = &explained->extent[i];
        count[extent->verdict]++;
        fast[extent->verdict] += extent->fast_pages;
        slow[extent->verdict] += extent->slow_pages;
    }
    for (int verdict = 0; verdict < HM_VERDICTS; verdict++)
        if (count[verdict] > 0)
            fprintf(out, "%7zu region%s (%" PRIu64 " fast, %" PRIu64 " slow pages): %s\n", count[verdict],
                    count[verdict] == 1 ? " " : "s", fast[verdict], slow[verdict],
                    hm_verdict_text((enum hm_verdict)verdict));
}

void hm_replayexplain_text(FILE *out, const struct hm_explained *explained)
{
    row_text cells;
    int width[N_COLUMNS];
    for (int i = 0; i < N_COLUMNS; i++)
        width[i] = (int)strlen(titles[i]);
    for (size_t at = 0; at < explained->n_extents; at++) {
        format_row(explained, &explained->extent[at], cells);
        for (int i = 0; i < N_COLUMNS; i++)
            width[i] = (int)strlen(cells[i]) > width[i] ? (int)strlen(cells[i]) : width[i];
    }
    fprintf(out, "Decided at the end of phase %zu; reads, writes and their noise are %s expected per phase:\n\n",
            explained->phase, explained->unit);
    for (int i = 0; i < N_COLUMNS; i++)
        snprintf(cells[i], CELL, "%s", titles[i]);
    print_row(out, cells, width);
    for (size_t at = 0; at < explained->n_extents; at++) {
        format_row(explained, &explained->extent[at], cells);
        print_row(out, cells, width);
    }
    fputc('\n', out);
    print_sums(out, explained);
}

static json_t *json_extent(const struct hm_explained *explained, const struct hm_extent *extent)
{
    char start[24], end[24];
    snprintf(start, sizeof(start), "0x%" PRIx64, start_of(extent));
    snprintf(end, sizeof(end), "0x%" PRIx64, end_of(extent));
    return json_pack("{s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:I, s:s}", "start", start, "end", end, "fast_pages",
                     (json_int_t)extent->fast_pages, "slow_pages", (json_int_t)extent->slow_pages, "reads",
                     extent->reads * explained->period, "writes", extent->writes * explained->period, "noise",
                     extent->noise * explained->period, "priority", extent->priority, "phases",
                     (json_int_t)extent->phases, "verdict", hm_verdict_text(extent->verdict));
}

json_t *hm_replayexplain_json(const struct hm_explained *explained)
{
    json_t *array = json_array();
    for (size_t i = 0; i < explained->n_extents; i++) {
        if (json_array_append_new(array, json_extent(explained, &explained->extent[i])) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}
