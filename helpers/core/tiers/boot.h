/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's topology: found once for each boot, and again after nodes came or went; kept in a file in run_dir. Only
 * for programs with one thread. Do not hold the ledger's lock.
 */
#ifndef HM_CORE_TIERS_BOOT_H
#define HM_CORE_TIERS_BOOT_H

#include "core/config/config.h"

/* Read the kept topology, or find it and keep it. Returns 0, or -1, also where the topology that was found cannot be
 * kept. */
int hm_topology_of_node(const struct hm_config *config, struct hm_topology *topology, struct hm_error *error);

/* Find the topology again and keep it, after nodes came or went. Steps that start meanwhile use the old one. Where a
 * node of the old one has lost its memory by then, the old one is stale (topology/cache.h), and these steps find no
 * tiers. Returns 0 or -1. */
int hm_topology_renew(const struct hm_config *config, struct hm_error *error);

#endif
