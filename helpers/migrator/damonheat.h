/* SPDX-License-Identifier: Apache-2.0 */
/* What a region of DAMON's says about accesses. Pure. */
#ifndef HM_DAMONHEAT_H
#define HM_DAMONHEAT_H

#include "damonwire.h"
#include "decide.h"

/*
 * Accesses to memory for each touch of a page. A look finds that a page was used, be it for one of its 64 lines or for
 * all: which of both cannot be seen. 8 is in the middle, by factors.
 */
#define HM_DAMON_TOUCH 8

/*
 * Each look takes a page of the region at random; a share p of them found it accessed since the look before. Pages that
 * are touched at random moments, t times between two looks, are found so with p = 1 - exp(-t). So
 *
 *     t = -ln(1 - p)                 touches per page between two looks
 *     reads = t * looks * pages / unit
 *
 * with `unit` the touches of pages that one sample stands for, 1 or more, and
 * p at most 1 - 1 / (2 * looks): what is touched at every look may be touched more often, but not by how much is
 * known. Pages are the region's span: holes in it are found untouched like cold pages, so that the sum is still right.
 */
struct hm_observation hm_damon_heat(const struct hm_damon_region *region, uint32_t looks, uint64_t unit,
                                    uint32_t space);

/* Of all processes' samples, older lists fading: their sum's mean, and its variance. All 0: nothing was accessed. */
struct hm_damon_scatter {
    double mean, variance;
};

/* Once for all lists of an aggregation. */
void hm_damon_scatter_age(struct hm_damon_scatter *scatter);

/*
 * The unit for lists from now on: such that the sum of a list's samples has the variance of as many counted ones, which
 * is how the decision code weighs evidence. Looks that found an access scatter like counts; each stands for all pages
 * of its region, so that the variance is the sum of accesses * pages^2 where the mean is that of accesses * pages, both
 * over all processes: one that waits says nothing. It stays while their quotient of late does not outgrow it by much:
 * what a step begins with (a shell) is not what it works on later. `unit` is the one up to now, 0: none, which stays as
 * long as nothing is accessed.
 */
uint64_t hm_damon_follow_unit(struct hm_damon_scatter *scatter, uint64_t unit, const struct hm_damon_region *regions,
                              uint32_t n);

#endif
