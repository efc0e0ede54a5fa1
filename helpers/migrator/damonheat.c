/* SPDX-License-Identifier: Apache-2.0 */
#include "damonheat.h"

#include <math.h>

#define PAGE_SHIFT 12
#define KEEP 0.9   /* of what earlier lists have said */
#define OUTGROWN 4 /* so many times smaller or larger: the unit is another */
#define PAGE_MASK ((UINT64_C(1) << PAGE_SHIFT) - 1)

struct hm_observation hm_damon_heat(const struct hm_damon_region *region, uint32_t looks, uint64_t unit, uint32_t space)
{
    uint64_t first = region->start >> PAGE_SHIFT;
    uint64_t n_pages = ((region->end + PAGE_MASK) >> PAGE_SHIFT) - first;
    double most = 1 - 0.5 / looks;
    double p = (double)region->accesses / looks;
    double touches = -log1p(-(p < most ? p : most)) * looks;
    return (struct hm_observation){
        .page = HM_PAGE(space, first), .n_pages = n_pages, .reads = (float)(touches * (double)n_pages / (double)unit)};
}

void hm_damon_scatter_age(struct hm_damon_scatter *scatter)
{
    scatter->mean *= KEEP;
    scatter->variance *= KEEP;
}

uint64_t hm_damon_follow_unit(struct hm_damon_scatter *scatter, uint64_t unit, const struct hm_damon_region *regions,
                              uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        double pages = (double)((regions[i].end - regions[i].start) >> PAGE_SHIFT);
        scatter->mean += regions[i].accesses * pages;
        scatter->variance += regions[i].accesses * pages * pages;
    }
    if (scatter->mean <= 0)
        return unit;
    double pages = scatter->variance / scatter->mean;
    if (unit > 0 && pages <= OUTGROWN * (double)unit && pages * OUTGROWN >= (double)unit)
        return unit;
    return pages > 1 ? (uint64_t)pages : 1;
}
