/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds Slurm's name of the node that this host is. It may differ from the host's (NodeHostname in slurm.conf), and may
 * even be another host's. slurmd gives its name to prologs and epilogs, but to no helper of node_features and no
 * RebootProgram, which have slurmd's own environment.
 */
#ifndef HM_SLURM_NODENAME_H
#define HM_SLURM_NODENAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/*
 * Find the name: that in the variable SLURMD_NODENAME; else the node whose NodeHostname in slurm.conf is the host's
 * name, up to the first dot or whole, as slurmd looks for it; else the host's name up to the first dot, where slurmctld
 * has such a node of this host (dynamic nodes are not in slurm.conf). scontrol has 20 s for each of its answers.
 * Returns 0, or -1 with a text: EINVAL where the host has several nodes; ENOENT where it has none that Slurm knows;
 * else scontrol has failed.
 */
int hm_nodename_find(char *name, size_t size, struct hm_error *error);

/* Read the only name in the output of `scontrol show aliases HOST`. Pure. Returns 1; 0 where there is no name; -1 with
 * a text (EINVAL) where there are several, or it does not fit. */
int hm_nodename_parse_aliases(const char *text, const char *host, char *name, size_t size, struct hm_error *error);

/* Does the output of `scontrol show node -o NODE` say that the node is on this host? Pure. */
bool hm_nodename_is_on(const char *text, const char *host);

#endif
