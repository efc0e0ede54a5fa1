/* SPDX-License-Identifier: Apache-2.0 */
#include "node.h"

#include "core/topology/cache.h"

int hm_nodetiers_read(const struct hm_config *config, struct hm_tiers *tiers, struct hm_error *error)
{
    if (hm_topologycache_read_older(config->run_dir, &tiers->topology, error) == 0 &&
        hm_tiers_group(&tiers->topology, config, tiers, error) == 0)
        return 0;
    tiers->n_tiers = 0;
    return -1;
}
