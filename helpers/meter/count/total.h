/* SPDX-License-Identifier: Apache-2.0 */
/* What one or more counters counted over a time, in joules or bytes. A total with a missing difference is unknown.
 * Pure. */
#ifndef HM_METER_COUNT_TOTAL_H
#define HM_METER_COUNT_TOTAL_H

#include <stdbool.h>
#include <stdint.h>

#include "counter.h"

struct hm_total {
    double amount;                 /* joules or bytes */
    uint64_t n;                    /* differences that were added */
    enum hm_counter_state problem; /* the first problem; HM_COUNTER_VALID: none */
};

/* Add a difference with its state; `factor` is the joules or bytes per count. */
void hm_total_add(struct hm_total *total, enum hm_counter_state state, uint64_t difference, double factor);

/* Note that the counter is a sum, and that parts of it came or went meanwhile (HM_COUNTER_REGROUPED). Where the sum
 * went back, this becomes the reason instead of HM_COUNTER_RESET. */
void hm_total_regroup(struct hm_total *total);

/* Add the total of another counter over the same time. A total without any difference makes the sum unknown. */
void hm_total_join(struct hm_total *total, const struct hm_total *other);

/* Is the amount known, with at least one difference and none missing? */
bool hm_total_is_known(const struct hm_total *total);

#endif
