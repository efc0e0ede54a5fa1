/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's numbering of a node's cores: 0 to the number of cores - 1, whatever the machine's numbers are. */
#ifndef HM_SLURM_CORES_H
#define HM_SLURM_CORES_H

#include "core/topology/topology.h"

/* All cores of this machine that are online, in Slurm's numbering. Returns 0, or -1 where sysfs does not tell. */
int hm_cores_of_node(struct hm_set *cores);

/* How slurm.conf has the node's CPUs counted. */
struct hm_numbering {
    unsigned cores;   /* of all sockets */
    unsigned threads; /* of each core */
    unsigned release; /* of the node's slurmd: 2411 is 24.11 */
};

/* How many CPUs of this machine share its first core, or 0 where sysfs does not tell. */
unsigned hm_cores_siblings(void);

/*
 * The CPUs of all sockets on which `cpus`, in Slurm's numbering, has one. Slurm numbers `threads` CPUs for each core,
 * whatever the machine has, and its n-th core is the machine's, counted by sockets, however many sockets slurm.conf
 * says. Before 23.11, and where slurm.conf has nothing but CPUs=, its n-th CPU is the machine's (task/affinity's
 * _get_avail_map, slurmd's xcpuinfo_abs_to_mac). `siblings` as from hm_cores_siblings. Pure. Returns 0, or -1 (EINVAL)
 * where Slurm counts more than there is, with a text that has both figures.
 */
int hm_cores_spread(const struct hm_set *cpus, const struct hm_numbering *numbering, unsigned siblings,
                    const struct hm_topology *topology, struct hm_set *sockets_cpus, struct hm_error *error);

/* The number of cores for a count of CPUs online and the list of the CPUs that share the first core. Pure. */
unsigned hm_cores_count(unsigned cpus, unsigned siblings);

#endif
