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

int hm_replayexplain_keep(struct hm_explained *explained, const struct hm_region *regions, size_t count)
{
    explained->region = malloc((count + 1) * sizeof(*regions));
    if (!explained->region) {
        errno = ENOMEM;
        return -1;
    }
    if (count > 0)
        memcpy(explained->region, regions, count * sizeof(*regions));
    explained->n_regions = count;
    return 0;
}

static uint64_t start_of(const struct hm_region *region)
{
    return HM_PAGE_NUMBER(region->first) << PAGE_SHIFT;
}

static uint64_t end_of(const struct hm_region *region)
{
    return (HM_PAGE_NUMBER(region->first) + region->n_pages) << PAGE_SHIFT;
}

/* "950", "12.3k", "4.56M": three digits. */
static void format_count(double value, char *out)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P"};
    size_t unit = 0;
    for (; value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
        value /= 1000;
    snprintf(out, CELL, "%.*f%s", unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value, units[unit]);
}

static void format_row(const struct hm_explained *explained, const struct hm_region *region, row_text cells)
{
    snprintf(cells[0], CELL, "%012" PRIx64 "-%012" PRIx64, start_of(region), end_of(region));
    snprintf(cells[1], CELL, "%" PRIu64, region->fast_pages + region->slow_pages);
    snprintf(cells[2], CELL, "%" PRIu64, region->fast_pages);
    snprintf(cells[3], CELL, "%" PRIu64, region->slow_pages);
    format_count(region->reads * explained->period, cells[4]);
    format_count(region->writes * explained->period, cells[5]);
    format_count(region->noise * explained->period, cells[6]);
    snprintf(cells[7], CELL, "%.3g", region->priority);
    snprintf(cells[8], CELL, "%s", hm_verdict_text(region->verdict));
}

/* The first column is left-aligned, as is the last; numbers are right-aligned. */
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
    for (size_t i = 0; i < explained->n_regions; i++) {
        const struct hm_region *region = &explained->region[i];
        count[region->verdict]++;
        fast[region->verdict] += region->fast_pages;
        slow[region->verdict] += region->slow_pages;
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
    for (size_t at = 0; at < explained->n_regions; at++) {
        format_row(explained, &explained->region[at], cells);
        for (int i = 0; i < N_COLUMNS; i++)
            width[i] = (int)strlen(cells[i]) > width[i] ? (int)strlen(cells[i]) : width[i];
    }
    fprintf(out, "Decided at the end of phase %zu; reads, writes and their noise are %s expected per phase:\n\n",
            explained->phase, explained->unit);
    for (int i = 0; i < N_COLUMNS; i++)
        snprintf(cells[i], CELL, "%s", titles[i]);
    print_row(out, cells, width);
    for (size_t at = 0; at < explained->n_regions; at++) {
        format_row(explained, &explained->region[at], cells);
        print_row(out, cells, width);
    }
    fputc('\n', out);
    print_sums(out, explained);
}

static json_t *json_region(const struct hm_explained *explained, const struct hm_region *region)
{
    char start[24], end[24];
    snprintf(start, sizeof(start), "0x%" PRIx64, start_of(region));
    snprintf(end, sizeof(end), "0x%" PRIx64, end_of(region));
    return json_pack("{s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:I, s:s}", "start", start, "end", end, "fast_pages",
                     (json_int_t)region->fast_pages, "slow_pages", (json_int_t)region->slow_pages, "reads",
                     region->reads * explained->period, "writes", region->writes * explained->period, "noise",
                     region->noise * explained->period, "priority", region->priority, "phases",
                     (json_int_t)region->phases, "verdict", hm_verdict_text(region->verdict));
}

json_t *hm_replayexplain_json(const struct hm_explained *explained)
{
    json_t *array = json_array();
    for (size_t i = 0; i < explained->n_regions; i++) {
        if (json_array_append_new(array, json_region(explained, &explained->region[i])) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}
