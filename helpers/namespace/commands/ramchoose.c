/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the devices for the commands `hybridmem namespace ram online`, `offline` and `list`. */
#include <errno.h>
#include <stdlib.h>

#include "core/tiers/boot.h"
#include "parts.h"

/* Sort by address, as libndctl lists regions in no order. */
static int compare(const void *a, const void *b)
{
    const struct hm_ram_device *one = a, *other = b;
    return one->start < other->start ? -1 : one->start > other->start;
}

int hm_ram_choose(const struct hm_config *config, const struct hm_set *sockets, struct hm_ram_device **devices,
                  struct hm_error *error)
{
    int kept = 0, n = -1;
    struct hm_topology *topology = malloc(sizeof(*topology));
    *devices = NULL;
    if (!topology)
        return hm_fail(error, ENOMEM, "no memory for the topology");
    if (hm_topology_of_node(config, topology, error) == 0)
        n = hm_ram_find(topology, devices, error);
    free(topology);
    for (int i = 0; i < n; i++)
        if (hm_set_is_empty(sockets) ||
            ((*devices)[i].socket >= 0 && hm_set_has(sockets, (unsigned)(*devices)[i].socket)))
            (*devices)[kept++] = (*devices)[i];
    if (kept > 1)
        qsort(*devices, (size_t)kept, sizeof(**devices), compare);
    return n < 0 ? -1 : kept;
}
