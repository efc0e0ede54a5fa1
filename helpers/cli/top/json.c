/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what `hybridmem top` shows as JSON (print.h). */
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "base/pagesize.h"
#include "cli/draw/figures.h"
#include "print.h"
#include "slurm/stepname.h"

/* A negative value was not measured, and becomes null. */
static json_t *amount_or_null(double value)
{
    return value < 0 ? json_null() : json_real(value);
}

/* A number, limited to INT64_MAX, the largest integer of many JSON readers. The migrator is a process of the user, and
 * may report anything. */
static json_t *count(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *build_unmoved(const struct hm_progress *progress)
{
    json_t *unmoved = json_object();
    for (int i = 0; i < HM_UNMOVED_REASONS; i++)
        json_object_set_new(unmoved, hm_unmoved_name((enum hm_unmoved)i), count(progress->unmoved_bytes[i]));
    return hm_figures_whole(unmoved, HM_UNMOVED_REASONS);
}

/* Accesses by kind of memory; null: not known. */
static json_t *build_heat(const struct hm_progress *progress)
{
    if (!progress->knows_heat)
        return json_null();
    json_t *heat = json_object();
    for (int i = 0; i < HM_MEMORY_KINDS; i++)
        json_object_set_new(heat, hm_memory_kind_name((enum hm_memory_kind)i),
                            json_pack("{s:f, s:f}", "share", progress->heat[i], "unmovable", progress->stuck[i]));
    return hm_figures_whole(heat, HM_MEMORY_KINDS);
}

static json_t *build_rows(const struct hm_view *view)
{
    json_t *rows = json_array();
    bool has_reads = strcmp(view->progress.hot_by, "writes") != 0;
    for (uint32_t i = 0; i < view->n_rows; i++) {
        const struct hm_view_row *row = &view->row[i];
        char address[24];
        snprintf(address, sizeof(address), "0x%" PRIx64, row->first << hm_page_shift());
        json_array_append_new(rows, json_pack("{s:I, s:s, s:o, s:o, s:o, s:o, s:f}", "pid", (json_int_t)row->pid,
                                              "address", address, "bytes", count(row->n_pages << hm_page_shift()),
                                              "fast_bytes", count(row->fast_pages << hm_page_shift()), "slow_bytes",
                                              count(row->slow_pages << hm_page_shift()), "reads",
                                              has_reads ? json_real((double)row->reads) : json_null(), "writes",
                                              (double)row->writes));
    }
    return hm_figures_whole(rows, view->n_rows);
}

static json_t *build_warnings(const struct hm_progress *progress)
{
    json_t *warnings = json_array();
    for (uint32_t i = 0; i < progress->n_warnings; i++)
        json_array_append_new(warnings, json_string(progress->warning[i]));
    return hm_figures_whole(warnings, progress->n_warnings);
}

int hm_topprint_json(FILE *out, const struct hm_view *view, const char *host)
{
    const struct hm_progress *progress = &view->progress;
    char step[16];
    json_t *root = json_pack(
        "{s:I, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:o, s:o, s:o, "
        "s:o, s:o, s:o}",
        "job_id", (json_int_t)view->job_id, "step_id", hm_step_name(progress->step_id, step, sizeof(step)), "node",
        host, "algorithm", progress->algorithm, "hot_by", progress->hot_by, "sample_source", progress->source, "phases",
        count(progress->phases), "samples", count(progress->samples), "processes", (json_int_t)progress->n_ranks,
        "fast_bytes", count(view->fast_bytes), "slow_bytes", count(view->slow_bytes), "cap_bytes",
        progress->capacity_bytes ? count(progress->capacity_bytes) : json_null(), "fair_share_bytes",
        progress->share_bytes ? count(progress->share_bytes) : json_null(), "kept_free_bytes",
        view->kept_free_bytes ? count(view->kept_free_bytes) : json_null(), "promoted_bytes",
        count(progress->promoted_bytes), "demoted_bytes", count(progress->demoted_bytes), "promoted_bytes_per_s",
        view->promoted_per_s, "demoted_bytes_per_s", view->demoted_per_s, "unmoved", build_unmoved(progress),
        "fast_share", amount_or_null(progress->fast_share), "best_share", amount_or_null(progress->best_share), "heat",
        build_heat(progress), "warnings", build_warnings(progress), "regions", build_rows(view));
    return hm_figures_end(out, root, JSON_COMPACT);
}
