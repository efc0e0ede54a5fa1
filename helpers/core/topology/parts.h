/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two halves of hm_discover: what hwloc tells, and what only this machine's files tell; for discover*.c only.
 */
#ifndef HM_CORE_TOPOLOGY_PARTS_H
#define HM_CORE_TOPOLOGY_PARTS_H

#include <hwloc.h>

#include "topology.h"

/* Members of hwloc's bitmap that a set can hold. */
void hm_discover_set(hwloc_const_bitmap_t bitmap, struct hm_set *set);

/* Kind, whether the memory is a device's, and figures of one node. */
void hm_discover_kind(hwloc_obj_t object, struct hm_node *node);
void hm_discover_figures(hwloc_topology_t hwloc, hwloc_obj_t object, struct hm_node *node);
/* hwloc guesses DRAM and HBM from bandwidth: drop the guess where it has them the wrong way round. */
void hm_discover_check_guess(struct hm_topology *topology);

/*
 * This machine: CPUs of each node, allowed nodes, free memory, memory tiers, ZONE_MOVABLE. A file that is not there
 * leaves its field as it is: kernels without NUMA, and old ones, have none of them.
 */
void hm_discover_machine(struct hm_topology *topology);

#endif
