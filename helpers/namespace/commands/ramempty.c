/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the memory of a DAX device (system-ram) offline, unless a process has pages or a memory policy there. */
#include <errno.h>
#include <stdio.h>

#include "base/size.h"
#include "namespace/ram/blocks.h"
#include "namespace/ram/nodeholders.h"
#include "parts.h"

int hm_ram_refuse_living(const struct hm_set *nodes, struct hm_error *error)
{
    struct hm_node_holder holder;
    char list[64], size[24], others[40] = "";
    int found = hm_node_holder_find(nodes, &holder, error);
    if (found <= 0)
        return found;
    hm_set_format(nodes, list, sizeof(list));
    if (holder.others > 0)
        snprintf(others, sizeof(others), ", and %u more live there", holder.others);
    if (holder.use.bytes == 0)
        return hm_fail(error, EBUSY, "process %d (%s) has a memory policy for node %s%s", (int)holder.pid, holder.name,
                       list, others);
    return hm_fail(error, EBUSY, "process %d (%s) has %s on node %s%s", (int)holder.pid, holder.name,
                   hm_size_format(holder.use.bytes, size, sizeof(size)), list, others);
}

/* Take blocks of the device offline. Returns 0, or -1: where a block cannot be emptied (EBUSY), the text names the
 * first that is still online. */
static int take_blocks(struct hm_ram_device *device, bool with_last, unsigned patience_s, struct hm_error *error)
{
    struct hm_error why = {{0}};
    enum hm_zone zone = hm_blocks_zone(&device->blocks);
    if (hm_ram_offline(device, with_last, patience_s, &why) == 0)
        return 0;
    int number = errno;
    if (number != EBUSY || hm_ram_look(device, NULL) != 0 || device->blocks.online == 0)
        return hm_fail(error, number, "%s", why.text);
    return hm_fail(error, EBUSY, "block memory%u (of %u blocks) cannot be emptied: %s", device->blocks.first_online,
                   device->blocks.n,
                   zone == HM_ZONE_MOVABLE ? "its pages are pinned, or no other node has room for them"
                                           : "in zone normal the kernel's own pages stay until a reboot");
}

int hm_ram_empty(struct hm_ram_device *device, const struct hm_set *node, unsigned patience_s, struct hm_error *error)
{
    if (take_blocks(device, false, patience_s, error) != 0 || hm_ram_refuse_living(node, error) != 0 ||
        take_blocks(device, true, patience_s, error) != 0)
        return -1;
    return hm_ram_refuse_living(node, error);
}
