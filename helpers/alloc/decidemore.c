/* SPDX-License-Identifier: Apache-2.0 */
/* The part of decide.h for allocations that change their size. */
#include <string.h>

#include "base/amount.h"
#include "base/pagesize.h"
#include "decide.h"
#include "mappings.h"
#include "room.h"

/* May what is added be in the last run, by its tier? */
static bool is_right(const struct hm_known *known, enum hm_alloc_policy policy)
{
    bool is_fast = hm_decide_is_fast(known->run[known->n_runs - 1].node);
    return policy == HM_ALLOC_FAST ? is_fast : policy == HM_ALLOC_SLOW && !is_fast;
}

/* Takes room for what the last run gets. */
static bool take_room(int node, uint64_t bytes, uint64_t room[HM_ALLOC_NODES])
{
    const struct hm_layout *layout = hm_decide_layout();
    for (int i = 0; i < layout->n_nodes; i++)
        if (layout->node[i].id == node && room[i] >= bytes) {
            room[i] -= bytes;
            return true;
        }
    return false;
}

/* How much of what is added the last run gets, so that it is a block. It ends with a huge page, which cannot be on two
 * nodes. */
static size_t fill(const struct hm_known *known, size_t data_bytes, size_t block_bytes)
{
    const struct hm_alloc_run *last = &known->run[known->n_runs - 1];
    size_t end = (size_t)hm_most(last->offset + block_bytes, known->data_bytes);
    size_t unit = data_bytes >= HM_KNOWN_HUGE_PAGE ? HM_KNOWN_HUGE_PAGE : hm_page_size();
    return (size_t)hm_least(hm_round_up(end, unit), data_bytes) - known->data_bytes;
}

/* To look for room costs more than to grow by a page. */
static bool passes_huge_page(size_t old_bytes, size_t data_bytes)
{
    return (old_bytes - 1) / HM_KNOWN_HUGE_PAGE != (data_bytes - 1) / HM_KNOWN_HUGE_PAGE;
}

/* Choose runs for what the last one does not get. Where the first one is on the same node, that is the last one. */
static bool choose(const struct hm_known *known, const struct hm_layout_wish *wish, struct hm_more *more)
{
    struct hm_place place;
    struct hm_placed placed;
    char reason[HM_ALLOC_REASON] = ""; /* not read: realloc tells none */
    size_t rest = more->bytes - more->fill_bytes, least = hm_whole_pages(rest / HM_KNOWN_MORE_RUNS + 1);
    if (rest == 0)
        return true;
    if (hm_layout_place(hm_decide_layout(), wish, &place, reason) < 0)
        return false;
    place.bytes = rest;
    place.block_bytes = hm_most(more->block_bytes, least);
    place.first_lane = hm_decide_lane(place.n_lanes);
    hm_place_blocks(&place, more->run, &placed);
    more->n_runs = placed.n_runs;
    more->is_elsewhere = placed.overflow_bytes > 0 || (wish->policy != HM_ALLOC_SPILL && placed.moved_bytes > 0);
    for (size_t i = 0; i < more->n_runs; i++)
        more->run[i].offset += known->data_bytes + more->fill_bytes;
    if (more->run[0].node == known->run[known->n_runs - 1].node) {
        more->fill_bytes += more->run[0].bytes;
        memmove(more->run, more->run + 1, --more->n_runs * sizeof(more->run[0]));
    }
    if (known->n_runs + more->n_runs > known->most_runs || !hm_mappings_take_for_blocks(more->n_runs))
        return false;
    hm_decide_pass_lanes(rest, place.block_bytes);
    return true;
}

bool hm_decide_more(const struct hm_known *known, size_t data_bytes, enum hm_alloc_policy policy,
                    const struct hm_alloc_hint *hint, struct hm_more *more)
{
    uint64_t room[HM_ALLOC_NODES];
    const struct hm_layout_wish wish = {policy, *hint, 0, NULL, NULL, hm_room_allowed(), room};
    more->bytes = data_bytes - known->data_bytes;
    more->fill_bytes = more->n_runs = more->block_bytes = 0;
    more->is_elsewhere = false;
    if (known->n_runs == 0 || more->bytes == 0) /* Linux places it */
        return true;
    bool is_last_right = is_right(known, policy);
    more->block_bytes = (size_t)hm_place_block_bytes(data_bytes, hint->block_bytes, hm_page_size(), HM_KNOWN_HUGE_PAGE);
    if (is_last_right)
        more->fill_bytes = fill(known, data_bytes, more->block_bytes);
    if (more->fill_bytes == more->bytes && !passes_huge_page(known->data_bytes, data_bytes))
        return true;
    hm_room_read(hm_decide_layout(), room);
    if (more->fill_bytes > 0 && !take_room(known->run[known->n_runs - 1].node, more->fill_bytes, room))
        more->fill_bytes = 0;
    if (wish.allowed && choose(known, &wish, more))
        return true;
    more->is_elsewhere = true;
    more->fill_bytes = more->bytes;
    more->n_runs = 0;
    return is_last_right;
}

void hm_decide_add(struct hm_known *known, const struct hm_more *more)
{
    if (known->n_runs == 0)
        return;
    struct hm_alloc_run *last = &known->run[known->n_runs - 1];
    const struct hm_alloc_run filled = {last->offset + last->bytes, more->fill_bytes, last->node, last->folder};
    last->bytes += more->fill_bytes;
    memcpy(&known->run[known->n_runs], more->run, more->n_runs * sizeof(more->run[0]));
    known->n_runs += more->n_runs;
    known->n_mappings += more->n_runs;
    if (more->block_bytes > 0)
        known->block_bytes = more->block_bytes;
    hm_room_take(hm_decide_layout(), &filled, 1);
    hm_room_take(hm_decide_layout(), more->run, more->n_runs);
}

void hm_decide_forget(const struct hm_more *more)
{
    hm_mappings_give(more->n_runs);
}

void hm_decide_cut(struct hm_known *known, size_t data_bytes)
{
    for (size_t i = known->n_runs; i-- > 0;) {
        struct hm_alloc_run *run = &known->run[i];
        if (run->offset + run->bytes <= data_bytes)
            return;
        size_t left = (size_t)hm_less(data_bytes, run->offset);
        const struct hm_alloc_run gone = {run->offset + left, run->bytes - left, run->node, run->folder};
        hm_room_give(hm_decide_layout(), &gone, 1);
        run->bytes = left;
        if (left > 0)
            return;
        known->n_runs--;
        known->n_mappings--;
        hm_mappings_give(1);
    }
}
