/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of blocks.h that do not read sysfs: how many blocks a range has, and in which zone they are. Pure. */
#include "blocks.h"

uint64_t hm_blocks_within(uint64_t start, uint64_t bytes, uint64_t block)
{
    uint64_t end;
    if (block == 0 || __builtin_add_overflow(start, bytes, &end))
        return 0;
    uint64_t first = start / block + (start % block != 0);
    return end / block > first ? end / block - first : 0;
}

enum hm_zone hm_blocks_zone(const struct hm_blocks *blocks)
{
    if (blocks->online == 0)
        return HM_ZONE_NONE;
    if (blocks->movable == blocks->online)
        return HM_ZONE_MOVABLE;
    return blocks->normal == blocks->online ? HM_ZONE_NORMAL : HM_ZONE_MIXED;
}

const char *hm_zone_name(enum hm_zone zone)
{
    static const char *const names[] = {
        [HM_ZONE_NONE] = "", [HM_ZONE_MOVABLE] = "movable", [HM_ZONE_NORMAL] = "normal", [HM_ZONE_MIXED] = "mixed"};
    return names[zone];
}
