/* SPDX-License-Identifier: Apache-2.0 */
#include "hooklimit.h"

#include "core/topology/regions.h"

#define OWN_S 65          /* hybridmem-job ends itself after 60 s, unless the kernel holds it */
#define DAY_S 86400       /* the longest that hybridmem-namespace works */
#define BEYOND_S 90       /* what is beyond fsdax_wipe_limit: waiting, wiping what failed, detaching, systemctl */
#define SLOW_MEMORY_S 610 /* bringing slow memory online waits for 600 s */

unsigned hm_hook_limit_s(const struct hm_config *config, const char *regions)
{
    if (!hm_regions_are_there(regions) && !hm_regions_have_devdax(regions))
        return OWN_S;
    if (config->fsdax_wipe_limit_s == 0)
        return OWN_S + DAY_S;
    return OWN_S + config->fsdax_wipe_limit_s + BEYOND_S + (config->ram != HM_SLOW_RAM_NONE ? SLOW_MEMORY_S : 0);
}
