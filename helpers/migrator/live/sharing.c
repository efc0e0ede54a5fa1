/* SPDX-License-Identifier: Apache-2.0 */
/* The step's share of the fast tier: what the migrators of several jobs on a node leave each other. */
#include <limits.h>
#include <stdio.h>

#include "base/pagesize.h"
#include "core/share/shares.h"
#include "live.h"

void hm_live_open_share(struct hm_live *live)
{
    char path[PATH_MAX];
    const struct hm_options *options = live->options;
    const struct hm_set tiers[2] = {options->shared, options->slow};
    if (live->share.fd < 0)
        return;
    live->share.is_wider = !hm_set_is_empty(&options->shared) && !hm_set_equal(&options->shared, &options->fast) &&
                           hm_nodes_init(&live->share.nodes, tiers, 2, options->reserve_bytes, NULL) == 0;
    /* .../job_1/step_0/user */
    if (options->cgroup[0] && snprintf(path, sizeof(path), "%s/../..", options->cgroup) < (int)sizeof(path))
        live->share.has_job = hm_cgroup_open(&live->share.job, path) == 0;
}

void hm_live_read_share(struct hm_live *live, const uint64_t bytes[2])
{
    static struct hm_shares shares;
    struct hm_progress *progress = live->shown.progress;
    const struct hm_nodes *nodes = live->share.is_wider ? &live->share.nodes : &live->nodes;
    if (live->share.is_wider)
        hm_nodes_refresh(&live->share.nodes);
    struct hm_shares_look look = {.job_id = live->options->job_id,
                                  .used_bytes = {bytes[0], bytes[1]},
                                  .room_bytes = hm_nodes_room(nodes, 0),
                                  .total_bytes = hm_nodes_fast_total(nodes)};
    uint64_t share = UINT64_MAX;
    if (live->share.fd >= 0 && hm_shares_read(live->share.fd, &shares, NULL) == 0) {
        look.knows_job = hm_live_read_job(live, look.job_bytes);
        share = hm_shares_of_step(&shares, &look);
    }
    live->share.pages = share == UINT64_MAX ? UINT64_MAX : share / hm_page_size();
    live->share.is_above = bytes[0] > share;
    if (share == UINT64_MAX) {
        progress->share_bytes = 0;
        return;
    }
    /* In the figures 0 means "not shared", so a share of 0 is shown as one byte. */
    progress->share_bytes = share > 0 ? share : 1;
    if (progress->least_share_bytes == 0 || progress->share_bytes < progress->least_share_bytes)
        progress->least_share_bytes = progress->share_bytes;
}
