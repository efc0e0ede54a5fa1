/* SPDX-License-Identifier: Apache-2.0 */
/* A simulation of DAMON's regions: how they are looked at, joined and split (Linux 6.12, mm/damon). */
#ifndef HM_SIMDAMON_H
#define HM_SIMDAMON_H

#include <stddef.h>

#include "migrator/damon/tune.h"
#include "migrator/replay/sampler.h"

#define SIMDAMON_MOST 16384

struct simdamon_region {
    unsigned space; /* number of the address space */
    uint64_t first, n_pages;
    uint32_t accesses; /* how many looks found an access, in the last aggregation */
};

struct simdamon_range {
    uint64_t first, n_pages;
};

struct simdamon {
    struct simdamon_region region[SIMDAMON_MOST]; /* by space, then page */
    size_t n, n_before;                           /* regions now, and before the last split */
    uint64_t pages;                               /* sum over all regions */
    double now_ms;
    struct hm_random random;
};

/* Was the page accessed between these two times? */
typedef bool simdamon_accessed(void *data, unsigned space, uint64_t page, double from_ms, double to_ms);

/* Begins with `pages` pages in each space, in ten regions. */
void simdamon_begin(struct simdamon *damon, unsigned n_spaces, uint64_t pages, uint64_t seed);
/* Begins with these ranges in each space, in ascending order, each with a gap to the next one. Each is one region. */
void simdamon_begin_in(struct simdamon *damon, unsigned n_spaces, const struct simdamon_range *range, size_t n_ranges,
                       uint64_t seed);
/* Runs one aggregation: split, look, join. Returns how many looks there were, summed over the regions. */
uint64_t simdamon_aggregate(struct simdamon *damon, const struct hm_damon_settings *settings,
                            simdamon_accessed *accessed, void *data);

#endif
