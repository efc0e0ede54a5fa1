/* SPDX-License-Identifier: Apache-2.0 */
/* The tiers of this node, from its kept topology and its configuration. */
#ifndef HM_CORE_TIERS_NODE_H
#define HM_CORE_TIERS_NODE_H

#include "tiers.h"

/* Read the node's tiers, without memory that has come online since the topology was found last. Returns 0, or -1 with a
 * text: `tiers` then has no tier. */
int hm_nodetiers_read(const struct hm_config *config, struct hm_tiers *tiers, struct hm_error *error);

#endif
