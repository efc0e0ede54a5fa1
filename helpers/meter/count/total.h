/* SPDX-License-Identifier: Apache-2.0 */
/* What counters counted over a time, in joules or bytes; not known as soon as one difference of it is not. Pure. */
#ifndef HM_METER_COUNT_TOTAL_H
#define HM_METER_COUNT_TOTAL_H

#include <stdbool.h>
#include <stdint.h>

#include "counter.h"

struct hm_total {
    double amount;                 /* joules or bytes */
    uint64_t n;                    /* differences in it */
    enum hm_counter_state problem; /* the first; HM_COUNTER_VALID: none */
};

/* Add a difference with its state, `factor` joules or bytes for each count. */
void hm_total_add(struct hm_total *total, enum hm_counter_state state, uint64_t difference, double factor);

/* The counter is a sum of which something came or went meanwhile (HM_COUNTER_REGROUPED): that is also why it went back,
 * if it did. */
void hm_total_regroup(struct hm_total *total);

/* Add another counter's total over the same time. One without any difference makes the sum unknown. */
void hm_total_join(struct hm_total *total, const struct hm_total *other);

/* Is the amount known: is there a difference, and none that is missing? */
bool hm_total_is_known(const struct hm_total *total);

#endif
