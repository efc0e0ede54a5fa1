/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the layout of this node from the node's configuration and topology. (The preload library has another
 * hm_layout_read, in preloadlayout.c.) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/plan/model.h"
#include "core/tiers/tiers.h"
#include "core/topology/cache.h"
#include "core/topology/discover.h"
#include "layout.h"

static void set_share(const struct hm_tiers *tiers, const struct hm_config *config, struct hm_layout *layout)
{
    const struct hm_tier *fast = &tiers->tier[0], *slow = &tiers->tier[tiers->n_tiers - 1];
    layout->fast_share = 1;
    if (tiers->n_tiers < 2 || hm_tiers_channels(config, fast, slow) == HM_CHANNELS_SHARED)
        return;
    double share = hm_spill_best_share(HM_CHANNELS_SEPARATE, (double)fast->read_bandwidth_mbs.value,
                                       (double)slow->read_bandwidth_mbs.value);
    if (share > 0)
        layout->fast_share = share;
}

void hm_layout_of_tiers(const struct hm_tiers *tiers, const struct hm_config *config, struct hm_layout *layout)
{
    const struct hm_topology *topology = &tiers->topology;
    memset(layout, 0, sizeof(*layout));
    set_share(tiers, config, layout);
    if (tiers->n_tiers == 1)
        snprintf(layout->note, sizeof(layout->note), "this node has one tier only");
    for (int i = 0; i < topology->n_nodes; i++) {
        const struct hm_node *node = &topology->node[i];
        int tier = hm_tiers_of_node(tiers, node->id);
        if (tier != 0 && (tier < 0 || tier != tiers->n_tiers - 1))
            continue;
        layout->node[layout->n_nodes++] = (struct hm_layout_node){
            .id = node->id,
            .socket = node->socket,
            .is_fast = tier == 0,
            .reserve_bytes = (uint64_t)((double)node->capacity_bytes * config->reserve_percent / 100),
        };
    }
}

/* The cpuset of this process may hide a whole tier. Count hidden nodes too, so that the same nodes are fast for every
 * process. */
static void show_all(struct hm_topology *topology)
{
    for (int i = 0; i < topology->n_nodes; i++)
        topology->node[i].allowed = true;
}

void hm_layout_read(struct hm_layout *layout)
{
    struct hm_error error = {""};
    struct hm_config *config = calloc(1, sizeof(*config));
    struct hm_tiers *tiers = calloc(1, sizeof(*tiers));
    memset(layout, 0, sizeof(*layout));
    layout->fast_share = 1;
    if (!config || !tiers) {
        snprintf(layout->note, sizeof(layout->note), "out of memory when the node's tiers were looked up");
        goto done;
    }
    /* Errors in the configuration are the administrator's matter (`hybridmem config check`): here the defaults are used
     * instead. */
    hm_config_read(hm_config_path(), false, config, NULL);
    if (hm_topologycache_read(config->run_dir, &tiers->topology, NULL) < 0 &&
        hm_discover_plainly(&tiers->topology, &error) < 0)
        goto unknown;
    show_all(&tiers->topology);
    if (hm_tiers_group(&tiers->topology, config, tiers, &error) < 0)
        goto unknown;
    hm_layout_of_tiers(tiers, config, layout);
    goto done;
unknown:
    snprintf(layout->note, sizeof(layout->note), "the node's tiers are not known: %.*s", 200, error.text);
done:
    free(tiers);
    free(config);
}
