/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses how often DAMON looks, and at how many regions. One look takes a random page of a region and asks whether it
 * was accessed since the look before. The time between two looks decides what can be told apart: if it is too long, all
 * pages of a busy program were accessed; if it is too short, none. The cost is regions times looks per second. So what
 * the looks find sets the time, and the budget then sets the number of regions. Pure.
 */
#ifndef HM_MIGRATOR_DAMON_TUNE_H
#define HM_MIGRATOR_DAMON_TUNE_H

#include <stdbool.h>
#include <stdint.h>

#define HM_DAMON_LOOKS 20          /* most looks in an aggregation */
#define HM_DAMON_MOST_REGIONS 4096 /* of one kdamond, whatever the budget */

struct hm_damon_needs {
    uint32_t interval_ms; /* of a phase; it gets at least two aggregations, of at most 5 s each, if the budget allows */
    uint32_t budget;      /* millionths of one CPU */
    uint32_t n_processes;
    uint32_t n_ranges; /* of all processes together; each takes one region at least */
};

struct hm_damon_settings {
    uint32_t look_us;                  /* time between two looks */
    uint32_t looks;                    /* in an aggregation: HM_DAMON_LOOKS, or fewer where memory is seldom used */
    uint32_t min_regions, max_regions; /* of all processes together; DAMON adapts the number between these */
};

/* Measured under the present settings. */
struct hm_damon_measured {
    double cpu_s, wall_s;
    /*
     * share of looks that found an access: the mean over the regions that had an access, each weighted by its bytes;
     * negative: no region had one
     */
    double accessed;
    double used; /* the same over all regions: 0 for those without an access */
};

/* The first settings. They assume that a look at a region costs 3 us. */
struct hm_damon_settings hm_damon_tune_first(const struct hm_damon_needs *needs);
/* Chooses min_regions anew, where the number of ranges has changed and the rest stays as it was tuned. */
void hm_damon_tune_min(const struct hm_damon_needs *needs, struct hm_damon_settings *settings);
/*
 * Improves the settings by what was measured. Returns false if they are good enough (within a quarter of the best), or
 * if cpu_s or wall_s is 0.
 */
bool hm_damon_tune(const struct hm_damon_needs *needs, const struct hm_damon_measured *measured,
                   struct hm_damon_settings *settings);

#endif
