/* SPDX-License-Identifier: Apache-2.0 */
/* A fake hm_regions_read, in place of the node's persistent memory: each of two sockets has a region of 1 GiB. */
#include "core/topology/regions.h"

void hm_regions_read(const char *folder, const struct hm_topology *topology, struct hm_dax_regions *regions)
{
    (void)folder, (void)topology;
    *regions = (struct hm_dax_regions){.are_known = true, .n = 2};
    for (int i = 0; i < 2; i++)
        regions->region[i] =
            (struct hm_dax_region){.id = i, .socket = i, .has_labels = true, .bytes = UINT64_C(1) << 30};
}
