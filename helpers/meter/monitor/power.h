/* SPDX-License-Identifier: Apache-2.0 */
/* The largest power of an interval between two readings of the energy counters. */
#ifndef HM_METER_MONITOR_POWER_H
#define HM_METER_MONITOR_POWER_H

#include "metered.h"

/* What power is of: of both where that of memory is known to the end (hm_metered_power), else of packages alone. */
enum hm_power_of { HM_POWER_PACKAGE, HM_POWER_BOTH, HM_POWERS };

struct hm_power {
    double joules;
    struct hm_metered_figure peak; /* W */
    bool is_lost;                  /* it was not known once: nor is its peak */
};

/* Begins as zeros, with the time of the first reading. */
struct hm_powers {
    struct hm_power power[HM_POWERS];
    uint64_t mono_ns; /* of their joules */
};

/*
 * After a reading at `mono_ns` (CLOCK_MONOTONIC) has given `metered` its energy: set its peak_w, W. With the memory and
 * without: a counter that is lost later leaves the peak of what the mean is of then.
 */
void hm_powers_take(struct hm_powers *powers, struct hm_metered *metered, uint64_t mono_ns);

#endif
