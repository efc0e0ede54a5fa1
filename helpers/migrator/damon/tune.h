/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often DAMON looks, and at how many regions. One look at one region takes a page of it at random and asks whether
 * it was accessed since the look before. The time between two looks decides what can be told apart: with a long one all
 * pages of a busy program were accessed, with a short one none. Regions times looks per second is the cost. So the
 * time is chosen by what the looks find, and the number of regions by what the budget leaves. Pure.
 */
#ifndef HM_MIGRATOR_DAMON_TUNE_H
#define HM_MIGRATOR_DAMON_TUNE_H

#include <stdbool.h>
#include <stdint.h>

#define HM_DAMON_LOOKS 20          /* per aggregation */
#define HM_DAMON_MOST_REGIONS 4096 /* of one kdamond, whatever the budget */

struct hm_damon_needs {
    uint32_t interval_ms; /* of a phase: it gets two aggregations at least, of 5 s at most */
    uint32_t budget;      /* millionths of one CPU */
    uint32_t n_processes;
};

struct hm_damon_settings {
    uint32_t look_us;
    uint32_t min_regions, max_regions; /* of all processes together; DAMON's own adaptation works in between */
};

/* Since the settings were made. */
struct hm_damon_measured {
    double cpu_s, wall_s;
    double accessed; /* mean share of looks that found an access, over the bytes of regions with one at all; negative:
                        there was none */
};

/* Before anything is known: a look at a region is taken to cost 3 us. */
struct hm_damon_settings hm_damon_tune_first(const struct hm_damon_needs *needs);
/* Better settings by what was measured; false where these are good enough (within a quarter). */
bool hm_damon_tune(const struct hm_damon_needs *needs, const struct hm_damon_measured *measured,
                   struct hm_damon_settings *settings);

#endif
