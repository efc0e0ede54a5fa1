/* SPDX-License-Identifier: Apache-2.0 */
/* The persistent memory of this machine: the kernel's regions, from which namespaces are cut. */
#ifndef HM_CORE_TOPOLOGY_REGIONS_H
#define HM_CORE_TOPOLOGY_REGIONS_H

#include "topology.h"

#define HM_REGIONS_FOLDER "/sys/bus/nd/devices"
#define HM_MAX_REGIONS 64

/* A region of persistent memory. */
struct hm_dax_region {
    int id;     /* region<id> */
    int socket; /* index in topology.socket_cpus; -1: unknown */
    bool has_labels, is_disabled, is_read_only;
    uint64_t bytes; /* size of the whole region */
};

struct hm_dax_regions {
    bool are_known; /* the regions are those of this machine; else nothing is known of them */
    int n;
    struct hm_dax_region region[HM_MAX_REGIONS];
};

/* Read the regions below `folder`. A missing folder means that the machine has none. Regions whose size cannot be read,
 * and those past HM_MAX_REGIONS, are left out. */
void hm_regions_read(const char *folder, const struct hm_topology *topology, struct hm_dax_regions *regions);

/* Is there a region? */
bool hm_regions_are_there(const char *folder);

/* Is there a namespace whose label begins with `prefix`? Labels that cannot be read do not count. */
bool hm_regions_have_label(const char *folder, const char *prefix);

/* Call `take` with each of these labels. Returns 0, or -1 where not all devices could be listed; a missing folder means
 * that there are none. */
int hm_regions_each_label(const char *folder, const char *prefix, void (*take)(void *data, const char *label),
                          void *data);

/* Is there a namespace in the mode devdax? */
bool hm_regions_have_devdax(const char *folder);

#endif
