/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's numbering of a node's cores: 0 to the number of cores - 1, whatever the machine's numbers are. */
#ifndef HM_CORES_H
#define HM_CORES_H

#include "../core/tiers.h"

/* All cores of this machine that are online, in Slurm's numbering. Returns 0, or -1 where sysfs does not tell. */
int hm_cores_of_node(struct hm_set *cores);

/*
 * The CPUs of all sockets on which `cpus`, in Slurm's numbering, has one: Slurm numbers the CPUs of the first socket
 * first, those of the second next, and so on. Pure.
 */
void hm_cores_spread(const struct hm_set *cpus, const struct hm_topology *topology, struct hm_set *sockets_cpus);

/* The number of cores for a count of CPUs online and the list of the CPUs that share the first core. Pure. */
unsigned hm_cores_count(unsigned cpus, unsigned siblings);

#endif
