/* SPDX-License-Identifier: Apache-2.0 */
/* The test for a change point of ARMS (arms.c). */
#ifndef HM_MIGRATOR_RIVALS_ARMS_H
#define HM_MIGRATOR_RIVALS_ARMS_H

#include <stdbool.h>

struct hm_rival_change {
    bool has_begun, is_recent; /* is_recent: what is recent counts more, as there was a change */
    double mean, variance;     /* of the traffic of the slow tier */
    double sum;                /* of what exceeded the mean by more than the drift */
    unsigned phases;           /* since the change */
};

/* Sees the traffic of the slow tier in a phase that ends. */
void hm_rival_change_see(struct hm_rival_change *change, double traffic);

#endif
