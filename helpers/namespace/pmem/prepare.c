/* SPDX-License-Identifier: Apache-2.0 */
#include "prepare.h"

#include <errno.h>

#include "base/size.h"

int hm_prepare_plan(const struct hm_region *region, uint64_t devdax_bytes, uint64_t ram_bytes, struct hm_prepare *steps,
                    struct hm_error *error)
{
    struct hm_region labelled = *region;
    char wanted[24], there[24];
    labelled.has_labels = true;
    *steps = (struct hm_prepare){.wants_labels = !region->has_labels};
    if (hm_region_check(&labelled, error) != 0)
        return -1;
    uint64_t bytes = (ram_bytes + region->align - 1) / region->align * region->align;
    uint64_t extent = region->has_labels ? region->extent : region->size;
    if (ram_bytes > 0 && devdax_bytes > 0 && devdax_bytes < ram_bytes)
        return hm_fail(error, EEXIST,
                       "%s has a devdax namespace of %s already, --ram asks for %s: remove it with ndctl "
                       "destroy-namespace, or ask for less",
                       region->name, hm_size_format(devdax_bytes, there, sizeof(there)),
                       hm_size_format(ram_bytes, wanted, sizeof(wanted)));
    if (devdax_bytes > 0 || ram_bytes == 0)
        return 0;
    if (bytes < ram_bytes || bytes > extent)
        return hm_fail(error, ENOSPC, "%s has no extent of %s for --ram: the largest is %s", region->name,
                       hm_size_format(ram_bytes, wanted, sizeof(wanted)), hm_size_format(extent, there, sizeof(there)));
    steps->ram_bytes = bytes;
    return 0;
}
