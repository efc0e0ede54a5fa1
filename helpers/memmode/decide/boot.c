/* SPDX-License-Identifier: Apache-2.0 */
#include "boot.h"

#include <errno.h>

#include "base/size.h"

int hm_memmode_has_come(const struct hm_memmode_resources *resources, enum hm_memmode asked, struct hm_error *error)
{
    enum hm_memmode used = hm_memmode_used(resources);
    char size[3][24];
    if (used == asked)
        return 0;
    return hm_fail(error, EIO,
                   "memmode=%s was asked for before the boot, and the node came back %s%s (of %s of PMem modules, %s "
                   "are memory, %s App Direct)",
                   hm_memmode_word(asked), used == HM_MEMMODE_NONE ? "with no module in use" : HM_MEMMODE_FEATURE,
                   used == HM_MEMMODE_NONE ? "" : hm_memmode_word(used),
                   hm_size_format(resources->physical, size[0], sizeof(size[0])),
                   hm_size_format(resources->memory, size[1], sizeof(size[1])),
                   hm_size_format(resources->app_direct, size[2], sizeof(size[2])));
}
