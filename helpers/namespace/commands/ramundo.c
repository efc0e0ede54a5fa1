/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a DAX device back into its former state after a change failed. */
#include <errno.h>

#include "parts.h"

/* Where the device was memory, bring its blocks online if fewer of them are online than before. Where it was not, take
 * its blocks offline and give it its former driver. Returns 0 or -1. */
static int undo(const struct hm_ram_device *before, unsigned patience_s, struct hm_error *error)
{
    struct hm_ram_device now = *before;
    enum hm_zone zone = hm_blocks_zone(&before->blocks);
    if (hm_ram_look(&now, error) != 0)
        return -1;
    if (before->driver == HM_RAM_KMEM) {
        if (now.blocks.online >= before->blocks.online)
            return 0;
        if (now.driver != HM_RAM_KMEM && hm_ram_bind(before, HM_RAM_KMEM, error) != 0)
            return -1;
        return hm_ram_online(before, zone == HM_ZONE_NORMAL ? HM_ZONE_NORMAL : HM_ZONE_MOVABLE, error);
    }
    if (now.blocks.online > 0 && hm_ram_offline(before, true, patience_s, error) != 0)
        return -1;
    return hm_ram_bind(before, before->driver, error);
}

int hm_ram_put_back(const struct hm_ram_device *before, unsigned patience_s, struct hm_error *error)
{
    int number = errno;
    struct hm_error why = *error, inner = {{0}};
    if (undo(before, patience_s, &inner) != 0)
        hm_fail(error, number, "%s; it is left half changed: %s", why.text, inner.text);
    errno = number;
    return -1;
}
