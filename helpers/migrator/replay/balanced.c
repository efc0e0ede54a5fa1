/* SPDX-License-Identifier: Apache-2.0 */
/* The least that the accesses of a trace can cost under load, with fractional pages and without moves. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "loaded.h"

static int compare_heat(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

/* Adds up the accesses of a phase: all of them, and those to its hottest pages, as many as the fast tier has room for.
 * `heat` has room for the phase's rows. */
static double hottest(const struct hm_trace *trace, size_t phase, uint64_t capacity, uint64_t *heat, double *all)
{
    const struct hm_trace_row *row = trace->row + trace->phase[phase].first;
    size_t n = trace->phase[phase].count;
    double most = 0;
    *all = 0;
    for (size_t i = 0; i < n; i++) {
        heat[i] = (uint64_t)row[i].mem_reads + row[i].mem_writes;
        *all += (double)heat[i];
    }
    qsort(heat, n, sizeof(*heat), compare_heat);
    for (size_t i = 0; i < n && i < capacity; i++)
        most += (double)heat[i];
    return most;
}

int hm_replay_balanced(const struct hm_trace *trace, const struct hm_replay_options *options, struct hm_score *score)
{
    uint64_t *heat = calloc(trace->n_pages + 1, sizeof(*heat)),
             capacity = hm_replay_capacity(trace, options->tier[0].share);
    struct hm_loaded loaded = {.cost_ns = 0};
    if (!heat) {
        errno = ENOMEM;
        return -1;
    }
    for (size_t phase = 0; phase < trace->n_phases; phase++) {
        double all, most = hottest(trace, phase, capacity, heat, &all);
        double all_gbs = hm_loaded_traffic(options, all);
        double best = hm_load_best(options->load, all_gbs, hm_loaded_traffic(options, most));
        double fast = best < all_gbs ? all * (best / all_gbs) : all;
        hm_loaded_serve(&loaded, options, fast, all - fast);
    }
    double mem = loaded.fast.lines + loaded.slow.lines;
    *score = (struct hm_score){.amat = hm_loaded_cost(&loaded, options) / mem,
                               .share_mem = loaded.fast.lines / mem,
                               .share_raw = NAN,
                               .slow_writes = NAN,
                               .fast_ns = hm_loaded_mean(&loaded.fast),
                               .slow_ns = hm_loaded_mean(&loaded.slow)};
    free(heat);
    return 0;
}
