/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's numbering of a node's cores: from 0 to the number of cores - 1, independent of the kernel's CPU numbers. */
#ifndef HM_SLURM_CORES_H
#define HM_SLURM_CORES_H

#include "core/topology/topology.h"

/* How slurm.conf counts the node's CPUs. */
struct hm_numbering {
    unsigned cores;   /* cores of all sockets together */
    unsigned threads; /* threads of each core */
    unsigned release; /* release of the node's slurmd: 2411 is 24.11 */
};

/* How many CPUs of this machine share its first core; 0 where sysfs does not tell. */
unsigned hm_cores_siblings(void);

/*
 * Find the CPUs of all sockets that have one of `cpus`, which are in Slurm's numbering. Slurm numbers `threads` CPUs
 * for each core, even where the machine has more. Its n-th core is the machine's n-th core counted by sockets, however
 * many sockets slurm.conf gives. Before 23.11, and where slurm.conf has nothing but CPUs=, its n-th CPU is the
 * machine's n-th CPU counted by sockets, too (_get_avail_map in task/affinity, xcpuinfo_abs_to_mac in slurmd).
 * `siblings` is from hm_cores_siblings. Pure. Returns 0, or -1 (EINVAL) where Slurm counts more cores or CPUs than the
 * machine has, where one of `cpus` lies beyond those of the machine, or where `siblings` or `threads` is 0. The text
 * then has Slurm's counts and the machine's.
 */
int hm_cores_spread(const struct hm_set *cpus, const struct hm_numbering *numbering, unsigned siblings,
                    const struct hm_topology *topology, struct hm_set *sockets_cpus, struct hm_error *error);

#endif
