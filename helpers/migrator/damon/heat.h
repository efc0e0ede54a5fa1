/* SPDX-License-Identifier: Apache-2.0 */
/* What a region of DAMON's says about accesses. Pure. */
#ifndef HM_MIGRATOR_DAMON_HEAT_H
#define HM_MIGRATOR_DAMON_HEAT_H

#include "migrator/decide/decide.h"
#include "wire.h"

/*
 * Accesses to memory for each touch of a page. A look finds that a page was used, be it for one of its 64 lines, for
 * all, or for some many times over: that cannot be seen. Programs that have much memory mostly sweep through pages.
 */
#define HM_DAMON_TOUCH 64

/*
 * By so much the accesses to pages may differ that are touched equally often, and the other way round: how long a
 * translation stays in a TLB, where the page looks idle, depends on what else the processor does. A smaller difference
 * is no reason to exchange pages.
 */
#define HM_DAMON_ERROR 0.2

/*
 * Each look takes a page of the region at random; a share p of them found it accessed since the look before. Pages that
 * are touched at random moments, t times between two looks, are found so with p = 1 - exp(-t). So
 *
 *     t = -ln(1 - p)                 touches per page between two looks
 *     reads = t * looks * pages
 *
 * with p at most 1 - 1 / (2 * looks): what is touched at every look may be touched more often, but not by how much is
 * known. Pages are the region's span: holes in it are found untouched like cold pages, so that the sum is still right.
 * The number of looks that found an access is binomial, and each stands for all pages: by the delta method
 *
 *     variance / reads = pages * p / (1 - p) / t
 *
 * Regions that DAMON has joined had `looks` looks each, and the kernel tells the mean of them alone: for these the
 * variance is too large, a cautious error.
 */
struct hm_observation hm_damon_heat(const struct hm_damon_region *region, uint32_t looks, uint32_t space);

#endif
