/* SPDX-License-Identifier: Apache-2.0 */
/* The zones of PAPI's component powercap: what each one measures, and what is needed to compute with its raw values. */
#ifndef HM_PAPI_ZONES_H
#define HM_PAPI_ZONES_H

#include "library.h"

/* Fill in what the zone of an event "powercap:::ENERGY_UJ:ZONE..." measures, and the event that gives the zone's
 * range. Returns false for a zone that hybridmem does not use, or whose name PAPI does not tell. */
bool hm_papi_zone_describe(struct hm_papi_found *found);

/*
 * Get the ranges that PAPI computes with; a range is the highest value of a counter, after which it begins again at 0.
 * For all zones of a level PAPI uses the range of that level's last zone, whether that zone was asked for or not.
 * used[0] is for packages, used[1] for zones within them; 0 where there are none.
 * Returns PAPI_OK, or PAPI's error.
 */
int hm_papi_zones_used_ranges(int component, uint64_t used[2]);

/* The time of a reading, by CLOCK_MONOTONIC. */
struct hm_papi_moment {
    uint64_t now_ns;
    bool is_start; /* the event set was started just before, at `started_ns` */
    uint64_t started_ns;
};

/*
 * Compute the counters of a component's zones (meter/papi/raw.h) from the values that PAPI read into `columns`. `value`
 * and `is_known` have an entry for each entry of library->found. Returns false where a reading fits two values of a
 * counter: then start the event set again. Such a counter keeps the value that it had.
 */
bool hm_papi_zones_take(struct hm_papi_library *library, unsigned component, const long long *columns,
                        const struct hm_papi_moment *moment, uint64_t *value, bool *is_known);

#endif
