/* SPDX-License-Identifier: Apache-2.0 */
#include "heat.h"

#include <math.h>

#include "base/pagesize.h"

/* If at least this share of the looks found an access, nobody knows how many accesses there were. It is not 1: now and
 * then the program waits while one of them is made. */
#define SATURATED 0.9

struct hm_observation hm_damon_heat(const struct hm_damon_region *region, double span_s, uint32_t space)
{
    double looks = region->looks;
    uint64_t first = region->start >> hm_page_shift();
    uint64_t n_pages = ((region->end + hm_page_size() - 1) >> hm_page_shift()) - first;
    double most = 1 - 0.5 / looks;
    double p = region->accesses / looks;
    p = p < most ? p : most;
    double touches = -log1p(-p), pages = (double)n_pages;
    double reads = touches * pages * span_s / (region->look_us * 1e-6);
    double dispersion = region->accesses > 0 ? reads / region->accesses : 1;
    return (struct hm_observation){.page = HM_PAGE(space, first),
                                   .n_pages = n_pages,
                                   .reads = (float)reads,
                                   .is_saturated = region->accesses >= SATURATED * looks,
                                   .excess = (float)fmax(dispersion - 1, 0)};
}
