/* SPDX-License-Identifier: Apache-2.0 */
/* The zones of PAPI's component powercap: what each measures, and what is wanted to reckon its raw values. */
#ifndef HM_PAPI_ZONES_H
#define HM_PAPI_ZONES_H

#include "library.h"

/* Fill in what the zone of an event "powercap:::ENERGY_UJ:ZONE..." measures, and the event of its range. Returns false
 * where that is nothing that is wanted. */
bool hm_papi_zone_describe(struct hm_papi_found *found);

/*
 * The ranges that PAPI reckons with: that of the last zone of a level for all of that level, wanted or not. used[0] is
 * for packages, used[1] for zones within; 0 where there is none. Returns PAPI_OK, or PAPI's error.
 */
int hm_papi_zones_used_ranges(int component, uint64_t used[2]);

/* When it was read, by CLOCK_MONOTONIC. */
struct hm_papi_moment {
    uint64_t now_ns;
    bool is_start; /* right after the event set was started, */
    uint64_t started_ns;
};

/*
 * Take what was read of a component's zones. Returns false where a counter is ambiguous: the set has to be started
 * anew. What was known of that one stays.
 */
bool hm_papi_zones_take(struct hm_papi_library *library, unsigned component, const long long *columns,
                        const struct hm_papi_moment *moment, uint64_t *value, bool *is_known);

#endif
