/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of hm_discover: what hwloc tells, and what only this machine's files tell. For this folder only. */
#ifndef HM_CORE_TOPOLOGY_PARTS_H
#define HM_CORE_TOPOLOGY_PARTS_H

#include <hwloc.h>

#include "topology.h"

/* Copy hwloc's bitmap into a set, as far as the set's range goes. */
void hm_discover_set(hwloc_const_bitmap_t bitmap, struct hm_set *set);

/* Fill in the node's kind, and whether its memory is a GPU's. */
void hm_discover_kind(hwloc_obj_t object, struct hm_node *node);
/* Fill in the node's bandwidths and latencies. */
void hm_discover_figures(hwloc_topology_t hwloc, hwloc_obj_t object, struct hm_node *node);
/* hwloc may guess DRAM and HBM from bandwidth. Drop the guess where it is the wrong way round. */
void hm_discover_check_guess(struct hm_topology *topology);

/* Read this machine's files: CPUs of each node, allowed nodes, free memory, memory tiers, ZONE_MOVABLE. A missing file
 * leaves its field unchanged: old kernels, and kernels without NUMA, lack some of the files. */
void hm_discover_machine(struct hm_topology *topology);

#endif
