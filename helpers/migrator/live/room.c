/* SPDX-License-Identifier: Apache-2.0 */
/* The room that is kept free in the fast tier for what the step allocates (growth.h) and for the kernel (move/nodes.h).
 */
#include "live.h"

#include "base/amount.h"
#include "base/clock.h"

#define LOOKS_PER_INTERVAL 2

void hm_live_look_at_growth(struct hm_live *live, uint64_t now)
{
    uint64_t bytes[2];
    if (now < live->room.next_look_ns || !hm_live_read_usage(live, bytes))
        return;
    hm_growth_note(&live->room.growth, now, bytes[0] + bytes[1]);
    live->room.next_look_ns = now + live->options->interval_ms * 1000000 / LOOKS_PER_INTERVAL;
}

void hm_live_keep_room(struct hm_live *live, const uint64_t bytes[2])
{
    /* until a phase has ended, the next decision is expected after the shortest of all phases */
    uint64_t reaction_ns = hm_most(live->room.phase_ns, live->options->interval_ms * 1000000);
    uint64_t expected =
        hm_growth_expected(&live->room.growth, hm_clock_ns(CLOCK_MONOTONIC), reaction_ns, bytes[0] + bytes[1]);
    hm_nodes_keep(&live->nodes, expected);
    if (live->share.is_wider)
        hm_nodes_keep(&live->share.nodes, expected);
    live->shown.view.kept_free_bytes = hm_nodes_fast_kept(&live->nodes);
}
