/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the largest power between two readings of the energy counters. */
#ifndef HM_METER_MONITOR_POWER_H
#define HM_METER_MONITOR_POWER_H

#include "metered.h"

/* Power is that of packages and memory where memory's energy is known to the end (hm_metered_power), else that of
 * packages alone. */
enum hm_power_of { HM_POWER_PACKAGE, HM_POWER_BOTH, HM_POWERS };

struct hm_power {
    double joules;                 /* energy at the end of the last interval */
    struct hm_metered_figure peak; /* W */
    bool is_lost;                  /* its energy was unknown once, so its peak is, too */
};

/* At the beginning all is zero except the time of the first reading. */
struct hm_powers {
    struct hm_power power[HM_POWERS];
    uint64_t mono_ns; /* time at which `joules` were read */
};

/* Set peak_w of `metered`, in W, after a reading of its energy at `mono_ns` (CLOCK_MONOTONIC). Peaks with and without
 * memory are kept, so that peak and mean cover the same parts when memory's counter is lost later. */
void hm_powers_take(struct hm_powers *powers, struct hm_metered *metered, uint64_t mono_ns);

#endif
