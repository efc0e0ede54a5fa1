/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates accesses from a DAMON region. Pure. */
#ifndef HM_MIGRATOR_DAMON_HEAT_H
#define HM_MIGRATOR_DAMON_HEAT_H

#include "base/pagesize.h"
#include "migrator/decide/decide.h"
#include "wire.h"

/*
 * Accesses to memory that one touch of a page stands for: one to each of its lines. A look only finds that a page was
 * used: for one of its lines, for all of them, or many times. Programs that use much memory mostly sweep through whole
 * pages.
 */
static inline uint64_t hm_damon_touch(void)
{
    return hm_page_size() / HM_LINE_BYTES;
}

/*
 * Relative error of the estimate that more looks do not reduce. A page looks idle while its translation stays in a TLB,
 * and how long it stays depends on the processor's other work. So pages that are accessed equally often may be touched
 * unequally often. A difference between two pages below this error is no reason to exchange them.
 */
#define HM_DAMON_ERROR 0.2

/*
 * Estimates the accesses to a region in `span_s` seconds. All looks were at one page of the region, chosen at random;
 * the share p of looks found the page accessed since the look before. If pages are touched at random moments, t times
 * between two looks, then p = 1 - exp(-t). So
 *
 *     t = -ln(1 - p)                 touches per page between two looks, which are look_s apart
 *     reads = t * pages * span_s / look_s
 *
 * p is limited to 1 - 1 / (2 * looks): pages that every look found accessed may be touched more often, but nobody knows
 * how much. These, and all pages that nearly every look found accessed, are marked as saturated. `pages` is the whole
 * span of the region: looks into holes find no access, so the sum is still right. The page stands for all pages, and
 * each look that found an access tells as much as one counted sample:
 *
 *     variance / reads = reads / accesses        `excess` is this, less 1, but at least 0
 *
 * It would be less than 0 only where the span is shorter than the looks took. While p is small this is the variance by
 * the delta method, as the number of such looks is binomial. That one grows without bounds towards p = 1, where pages
 * may be touched more often than the estimate says, but hardly less often: it would hide the hottest pages.
 */
struct hm_observation hm_damon_heat(const struct hm_damon_region *region, double span_s, uint32_t space);

#endif
