/* SPDX-License-Identifier: Apache-2.0 */
/* The node's topology, found once for each boot and kept in run_dir. */
#ifndef HM_CORE_TIERS_BOOT_H
#define HM_CORE_TIERS_BOOT_H

#include "core/config/config.h"

/* Read it, or find and keep it. One that cannot be kept is an error too. Returns 0 or -1. */
int hm_topology_of_node(const struct hm_config *config, struct hm_topology *topology, struct hm_error *error);

/* Nodes have come or gone: find it anew, and keep that. Steps that begin meanwhile have the old one. Returns 0 or -1.
 */
int hm_topology_renew(const struct hm_config *config, struct hm_error *error);

#endif
