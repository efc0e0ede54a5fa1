/* SPDX-License-Identifier: Apache-2.0 */
/* Resting: a step with nothing to move costs next to nothing, as there is no source, and hardly a look at a page. */
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/pagesize.h"
#include "live.h"

/* pages that are looked up to find out where files and huge pages are; more where there are many mappings */
#define LOOKS 512

static bool read_usage(struct hm_live *live, struct hm_cgroup *cgroup, uint64_t bytes[HM_MAX_TIERS])
{
    struct hm_reading reading;
    if (hm_cgroup_read(cgroup, &live->account.node_map, &reading) != 0 || !reading.has_usage)
        return false;
    for (int tier = 0; tier < HM_MAX_TIERS; tier++)
        bytes[tier] = reading.usage[tier].anon + reading.usage[tier].shmem + (uint64_t)live->account.apart[tier];
    return true;
}

bool hm_live_read_tiers(struct hm_live *live, uint64_t bytes[HM_MAX_TIERS])
{
    return live->account.has_cgroup && read_usage(live, &live->account.cgroup, bytes);
}

void hm_live_sum_slow(const uint64_t tiers[HM_MAX_TIERS], uint64_t bytes[2])
{
    bytes[0] = tiers[0];
    bytes[1] = 0;
    for (int tier = 1; tier < HM_MAX_TIERS; tier++)
        bytes[1] += tiers[tier];
}

bool hm_live_read_usage(struct hm_live *live, uint64_t bytes[2])
{
    uint64_t tiers[HM_MAX_TIERS];
    if (!hm_live_read_tiers(live, tiers))
        return false;
    hm_live_sum_slow(tiers, bytes);
    return true;
}

bool hm_live_read_job(struct hm_live *live, uint64_t bytes[2])
{
    uint64_t tiers[HM_MAX_TIERS];
    if (!live->share.has_job || !read_usage(live, &live->share.job, tiers))
        return false;
    hm_live_sum_slow(tiers, bytes);
    return true;
}

/* The share in bytes, and a little more: it follows what others use, and so is never quite still. */
static uint64_t with_slack(uint64_t pages)
{
    return pages == UINT64_MAX ? UINT64_MAX : (pages + pages / HM_REST_SHARE) * hm_page_size();
}

static void begin_rest(struct hm_live *live)
{
    struct hm_progress *progress = live->shown.progress;
    hm_live_close_source(live);
    live->intake.try_source_ns = 0;
    live->shown.view.n_rows = 0;
    live->shown.view.promoted_per_s = live->shown.view.demoted_per_s = 0;
    if (progress->source[0])
        return;
    snprintf(progress->source, sizeof(progress->source), "%s", HM_PROGRESS_NO_SOURCE);
    hm_progress_text(progress->source_why, sizeof(progress->source_why),
                     "the step had next to nothing in the slow tier, and was not above its cap or its share");
}

/* Does the migrator of a small step rest, as beside the shell of a job? */
static bool is_small(const struct hm_live *live, const uint64_t bytes[2])
{
    return live->rest.is_resting && bytes[0] + bytes[1] < HM_REST_SMALL;
}

/* Reads what the step has in the fast tier and below it, and how much of the fast one it may have. Returns whether it
 * is known. */
static bool read_limit(struct hm_live *live, uint64_t bytes[2], uint64_t *cap_bytes)
{
    *cap_bytes = live->cap_pages == UINT64_MAX ? UINT64_MAX : live->cap_pages * hm_page_size();
    if (!hm_live_read_usage(live, bytes))
        return false;
    if (live->share.fd >= 0 && !is_small(live, bytes)) {
        hm_nodes_refresh(&live->nodes);
        /* at rest as seldom as the mappings: the kernel's watermarks cost as much to read */
        if (!live->rest.is_resting || live->rest.n_looks % HM_REST_MAPS == 1)
            hm_live_keep_room(live, bytes);
        hm_live_read_share(live, bytes);
        *cap_bytes = hm_least(*cap_bytes, with_slack(live->share.pages));
    }
    return true;
}

bool hm_live_is_above(struct hm_live *live)
{
    uint64_t bytes[2], cap_bytes;
    return read_limit(live, bytes, &cap_bytes) && bytes[0] > cap_bytes;
}

void hm_live_look_at_apart(struct hm_live *live)
{
    size_t n = 0;
    for (uint32_t space = 0; space < live->intake.ranks.n; space++) {
        const struct hm_maps *maps = &live->intake.maps[space];
        for (size_t i = 0; i < maps->n_mapped && n < HM_LIVE_GAPS; i++) {
            const struct hm_mapped *mapped = &maps->mapped[i];
            if (mapped->may_move && !mapped->is_alias && mapped->kind != HM_MEMORY_SHARED)
                live->gaps[n++] = (struct hm_extent){.first = mapped->home, .n_pages = mapped->range.n_pages};
        }
    }
    memset(live->account.apart, 0, sizeof(live->account.apart));
    live->residence.apart = live->account.apart;
    hm_residence_fill(&live->residence, live->gaps, n, LOOKS);
    live->residence.apart = NULL;
    for (int tier = 0; tier < HM_MAX_TIERS; tier++)
        live->account.apart[tier] *= (double)hm_page_size();
}

void hm_live_look_at_rest(struct hm_live *live)
{
    if (live->rest.n_looks++ % HM_REST_MAPS == 0) {
        hm_live_read_maps(live);
        hm_live_look_at_apart(live);
    }
    hm_live_rest(live);
}

/* Decides by what the step has in the fast tier and below it; NULL: that is not known. */
static void rest(struct hm_live *live, const uint64_t *bytes, uint64_t cap_bytes)
{
    bool may_rest = bytes && (is_small(live, bytes) || !hm_live_wants_balance(live));
    hm_rest_next(&live->rest, may_rest ? bytes : NULL, cap_bytes);
    if (live->rest.is_resting)
        begin_rest(live);
}

void hm_live_rest(struct hm_live *live)
{
    uint64_t bytes[2], cap_bytes;
    bool is_known = read_limit(live, bytes, &cap_bytes);
    if (is_known) {
        live->shown.view.fast_bytes = bytes[0];
        live->shown.view.slow_bytes = bytes[1];
    }
    rest(live, is_known ? bytes : NULL, cap_bytes);
}

void hm_live_rest_decided(struct hm_live *live)
{
    const uint64_t bytes[2] = {live->shown.view.fast_bytes, live->shown.view.slow_bytes};
    uint64_t cap_bytes = live->cap_pages == UINT64_MAX ? UINT64_MAX : live->cap_pages * hm_page_size();
    cap_bytes = hm_least(cap_bytes, with_slack(live->share.pages));
    live->share.is_above = bytes[0] / hm_page_size() > live->share.pages;
    rest(live, live->account.knows_usage ? bytes : NULL, cap_bytes);
}
