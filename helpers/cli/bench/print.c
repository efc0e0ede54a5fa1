/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the results of `hybridmem bench`, as text or as JSON (bench.h). */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "base/size.h"
#include "base/words.h"
#include "bench.h"
#include "cli/draw/figures.h"
#include "cli/draw/table.h"

#define CELL HM_TABLE_CELL
#define INDENT 2 /* of a line's continuation */

static uint64_t bytes_of(const struct hm_bench_place *place)
{
    return place->fast_bytes + place->slow_bytes + place->other_bytes + place->file_bytes;
}

/* The kernel and the size: only both together name a row. */
static void cell_name(const struct hm_bench *bench, const struct hm_bench_result *result, char cell[CELL])
{
    char size[24];
    (void)bench;
    snprintf(cell, CELL, "%-10s  %s", hm_bench_kernel_name(result->kernel),
             hm_size_format(result->bytes, size, sizeof(size)));
}

static void cell_role(const struct hm_bench *bench, const struct hm_bench_result *result, enum hm_bench_role role,
                      char cell[CELL])
{
    const struct hm_bench_place *place = &result->place[role];
    if (!hm_bench_has_array(result->kernel, role))
        snprintf(cell, CELL, "-");
    else if (bytes_of(place) == 0)
        snprintf(cell, CELL, "%s, unknown", hm_bench_policy_name(bench->words.policy[role]));
    else if (place->file_bytes > 0)
        snprintf(cell, CELL, "%s, %.0f %% in files", hm_bench_policy_name(bench->words.policy[role]),
                 100. * (double)place->file_bytes / (double)bytes_of(place));
    else
        snprintf(cell, CELL, "%s, %.0f %% fast", hm_bench_policy_name(bench->words.policy[role]),
                 100. * (double)place->fast_bytes / (double)bytes_of(place));
}

static void cell_read(const struct hm_bench *bench, const struct hm_bench_result *result, char cell[CELL])
{
    cell_role(bench, result, HM_BENCH_READ, cell);
}

static void cell_written(const struct hm_bench *bench, const struct hm_bench_result *result, char cell[CELL])
{
    cell_role(bench, result, HM_BENCH_WRITTEN, cell);
}

static void cell_bandwidth(double mbs, char cell[CELL])
{
    if (mbs < 0)
        snprintf(cell, CELL, "unknown");
    else
        snprintf(cell, CELL, "%.1f GB/s", mbs / 1000);
}

static void cell_best(const struct hm_bench *bench, const struct hm_bench_result *result, char cell[CELL])
{
    (void)bench;
    cell_bandwidth(result->best_mbs, cell);
}

static void cell_mean(const struct hm_bench *bench, const struct hm_bench_result *result, char cell[CELL])
{
    (void)bench;
    cell_bandwidth(result->mean_mbs, cell);
}

static void cell_predicted(const struct hm_bench *bench, const struct hm_bench_result *result, char cell[CELL])
{
    (void)bench;
    cell_bandwidth(result->predicted_mbs, cell);
}

static const struct hm_column columns[] = {
    {.title = "KERNEL      SIZE"}, {.title = "READ"}, {.title = "WRITTEN"}, {.title = "BEST"}, {.title = "MEAN"},
    {.title = "PREDICTED"},
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void (*const writers[N_COLUMNS])(const struct hm_bench *bench, const struct hm_bench_result *result,
                                        char cell[CELL]) = {
    cell_name, cell_read, cell_written, cell_best, cell_mean, cell_predicted,
};

static void write_cell(const void *data, size_t row, size_t column, char cell[CELL])
{
    const struct hm_bench *bench = data;
    writers[column](bench, &bench->result[row], cell);
}

/* The n-th text of hm_alloc_reason: each result has one for each role. "": the array is as its policy says, or the
 * kernel has no array of this role. */
static const char *reason_at(const struct hm_bench *bench, int n)
{
    return bench->result[n / HM_BENCH_ROLES].reason[n % HM_BENCH_ROLES];
}

static bool is_first(const struct hm_bench *bench, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(reason_at(bench, i), reason_at(bench, n)) == 0)
            return false;
    return true;
}

/* Prints each different reason once, with the first array that has it. */
static void print_reasons(FILE *out, size_t screen, const struct hm_bench *bench)
{
    for (int i = 0; i < bench->n_results * HM_BENCH_ROLES; i++)
        if (reason_at(bench, i)[0] && is_first(bench, i))
            hm_words_put_text(out, screen, INDENT, "%s of %s: %s",
                              i % HM_BENCH_ROLES == HM_BENCH_READ ? "read" : "written",
                              hm_bench_kernel_name(bench->result[i / HM_BENCH_ROLES].kernel), reason_at(bench, i));
}

void hm_benchprint_text(FILE *out, const struct hm_bench *bench)
{
    const struct hm_table table = {columns, N_COLUMNS, (size_t)bench->n_results, write_cell, bench};
    size_t screen = hm_words_columns(out);
    hm_table_print(out, &table, screen);
    fprintf(out, "\n%d %s, best and mean of %d %s\n", bench->threads,
            hm_plural((uint64_t)bench->threads, "thread", "threads"), bench->words.repetitions,
            hm_plural((uint64_t)bench->words.repetitions, "repetition", "repetitions"));
    if (bench->words.kernel[HM_BENCH_NT_WRITE] && !hm_bench_is_non_temporal())
        hm_words_put_text(out, screen, INDENT,
                          "nt-write has plain stores: hybridmem knows no stores past the caches for this processor");
    print_reasons(out, screen, bench);
}

static json_t *json_bandwidth(double mbs)
{
    return mbs < 0 ? json_null() : json_real(mbs);
}

/* Describes the array that has this role; null if the kernel has none. */
static json_t *json_array_of(const struct hm_bench *bench, const struct hm_bench_result *result,
                             enum hm_bench_role role)
{
    const struct hm_bench_place *place = &result->place[role];
    if (!hm_bench_has_array(result->kernel, role))
        return json_null();
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:s}", "policy", hm_bench_policy_name(bench->words.policy[role]),
                     "fast_bytes", (json_int_t)place->fast_bytes, "slow_bytes", (json_int_t)place->slow_bytes,
                     "other_bytes", (json_int_t)place->other_bytes, "file_bytes", (json_int_t)place->file_bytes,
                     "reason", result->reason[role]);
}

static json_t *json_result(const struct hm_bench *bench, const struct hm_bench_result *result)
{
    json_t *seconds = json_array();
    for (int i = 0; i < result->n_seconds; i++)
        json_array_append_new(seconds, json_real(result->seconds[i]));
    return json_pack(
        "{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "kernel", hm_bench_kernel_name(result->kernel), "bytes",
        (json_int_t)result->bytes, "moved_bytes", (json_int_t)result->moved_bytes, "read",
        json_array_of(bench, result, HM_BENCH_READ), "written", json_array_of(bench, result, HM_BENCH_WRITTEN),
        "seconds", hm_figures_whole(seconds, (size_t)result->n_seconds), "best_mbs", json_bandwidth(result->best_mbs),
        "mean_mbs", json_bandwidth(result->mean_mbs), "predicted_mbs", json_bandwidth(result->predicted_mbs));
}

json_t *hm_benchprint_json(const struct hm_bench *bench)
{
    json_t *results = json_array();
    for (int i = 0; i < bench->n_results; i++)
        json_array_append_new(results, json_result(bench, &bench->result[i]));
    return json_pack("{s:i, s:i, s:b, s:i, s:I, s:o}", "threads", bench->threads, "repetitions",
                     bench->words.repetitions, "non_temporal", hm_bench_is_non_temporal(), "tiers",
                     bench->tiers.n_tiers, "fast_bytes", (json_int_t)bench->tiers.tier[0].capacity_bytes, "results",
                     hm_figures_whole(results, (size_t)bench->n_results));
}
