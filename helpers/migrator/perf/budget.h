/* SPDX-License-Identifier: Apache-2.0 */
/* How often to sample, so that sampling stays within its share of the CPUs. Pure. */
#ifndef HM_MIGRATOR_PERF_BUDGET_H
#define HM_MIGRATOR_PERF_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define HM_PERF_COARSEST 1048576 /* times the period that is wanted, at most */
#define HM_PERF_PATIENCE 3       /* spans with little spent before sampling is made finer again ... */
#define HM_PERF_PATIENCE_MOST 96 /* ... which doubles up to this, each time that finer was too fine */

struct hm_perf_budget {
    uint64_t wanted; /* period: never finer than that */
    uint64_t period; /* in use: wanted times a power of two */
    unsigned calm;   /* spans in a row in which little was spent */
    unsigned patience;
};

void hm_perf_budget_init(struct hm_perf_budget *budget, uint64_t wanted);

/*
 * The period after a span in which `spent_s` of `allowed_s` CPU seconds were spent. Over it, or where the kernel
 * throttled: coarser by the least power of two that is within it. Under a quarter of it for `patience` spans: finer by
 * two, which is then at most half of it. Returns whether the period changed.
 */
bool hm_perf_budget_next(struct hm_perf_budget *budget, double spent_s, double allowed_s, bool was_throttled);

#endif
