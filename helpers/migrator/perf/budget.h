/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the sampling period so that sampling stays within its share of the CPUs. Pure. */
#ifndef HM_MIGRATOR_PERF_BUDGET_H
#define HM_MIGRATOR_PERF_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define HM_PERF_COARSEST 1048576 /* largest multiple of the wanted period */
#define HM_PERF_PATIENCE 3       /* first value of `patience`, which is doubled whenever sampling must become coarser */
#define HM_PERF_PATIENCE_MOST 96 /* largest value of `patience` */

struct hm_perf_budget {
    uint64_t wanted;   /* the wanted period; the one in use is never shorter */
    uint64_t most;     /* the period is never longer; 0: no such limit */
    uint64_t period;   /* the period in use: `wanted` times a power of two */
    unsigned calm;     /* cheap spans in a row: each cost less than a quarter of what is allowed */
    unsigned patience; /* cheap spans in a row that make sampling finer again */
};

void hm_perf_budget_init(struct hm_perf_budget *budget, uint64_t wanted, uint64_t most);

/*
 * Adapts the period after a span in which `spent_s` of `allowed_s` CPU seconds were spent. If that is too much, or the
 * kernel throttled, the period is doubled until the cost would be allowed. If it was less than a quarter for `patience`
 * spans, the period is halved, which costs at most half of what is allowed. Returns whether the period changed.
 */
bool hm_perf_budget_next(struct hm_perf_budget *budget, double spent_s, double allowed_s, bool was_throttled);

/*
 * For a period in ns of CPU time: sets the one at which records that cost `cost_s` CPU seconds each take `share` (0..1,
 * not 0) of that time. It is never shorter than `finest`, nor longer than the budget's `most`, and stays as it is where
 * it would change by less than a tenth. Returns whether it changed.
 */
bool hm_perf_budget_fit(struct hm_perf_budget *budget, double cost_s, double share, uint64_t finest);

#endif
