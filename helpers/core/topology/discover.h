/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the topology with hwloc. This is a library of its own, libdiscover.la, as the plugin and the monitor must not
 * be linked with hwloc. */
#ifndef HM_CORE_TOPOLOGY_DISCOVER_H
#define HM_CORE_TOPOLOGY_DISCOVER_H

#include "topology.h"

/*
 * Read the topology of this machine (`xml` NULL) or of hwloc's XML file. In a process of root's, only hwloc's built-in
 * Linux back end runs: this function turns plugins and device back ends off, by variables in the environment.
 * What hwloc does not tell (memory tiers in sysfs, ZONE_MOVABLE, free memory) is read from sysfs and /proc for this
 * machine only. Returns 0, or -1 with a text that names the file or the cause.
 */
int hm_discover(const char *xml, struct hm_topology *topology, struct hm_error *error);

/* Read the topology of this machine inside a program that is not hybridmem's: the environment stays as it is, and hwloc
 * does what that program's user has set in it. Returns as hm_discover. */
int hm_discover_plainly(struct hm_topology *topology, struct hm_error *error);

#endif
