/* SPDX-License-Identifier: Apache-2.0 */
/* The persistent memory of this machine, as the kernel shows it: regions that namespaces are cut from. */
#ifndef HM_CORE_TOPOLOGY_REGIONS_H
#define HM_CORE_TOPOLOGY_REGIONS_H

#include "topology.h"

#define HM_REGIONS_FOLDER "/sys/bus/nd/devices"
#define HM_MAX_REGIONS 64

/* A piece of persistent memory that namespaces are cut from. */
struct hm_dax_region {
    int id;     /* region<id> */
    int socket; /* index of topology.socket_cpus, -1 where it cannot be told */
    bool has_labels, is_disabled, is_read_only;
    uint64_t bytes; /* all of it */
};

struct hm_dax_regions {
    bool are_known; /* they are this machine's; without, nothing is said of them */
    int n;
    struct hm_dax_region region[HM_MAX_REGIONS];
};

/*
 * Read the regions below `folder`; where there is none, the machine has none. Regions whose socket cannot be told have
 * -1. What is more than HM_MAX_REGIONS is left out.
 */
void hm_regions_read(const char *folder, const struct hm_topology *topology, struct hm_dax_regions *regions);

/* Is there a region? */
bool hm_regions_are_there(const char *folder);

/* Is there a namespace whose label begins with `prefix`? One that cannot be read does not. */
bool hm_regions_have_label(const char *folder, const char *prefix);

/* Is there a namespace in the mode devdax? */
bool hm_regions_have_devdax(const char *folder);

#endif
