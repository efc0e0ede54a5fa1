/* SPDX-License-Identifier: Apache-2.0 */
#include "decide.h"

#include <errno.h>
#include <string.h>

#include "base/amount.h"
#include "base/size.h"
#include "kernel.h"
#include "mappings.h"
#include "room.h"

static struct hm_layout layout;
static unsigned lane; /* of the next block */

void hm_decide_begin(void)
{
    hm_layout_read(&layout);
}

const struct hm_layout *hm_decide_layout(void)
{
    return &layout;
}

int hm_decide_lane(int n_lanes)
{
    return (int)(lane % (unsigned)n_lanes);
}

void hm_decide_pass_lanes(uint64_t bytes, uint64_t block_bytes)
{
    lane += (unsigned)((bytes - 1) / block_bytes + 1);
}

bool hm_decide_is_fast(int node)
{
    for (int i = 0; i < layout.n_nodes; i++)
        if (layout.node[i].id == node)
            return layout.node[i].is_fast;
    return false;
}

size_t hm_decide_fast_bytes(const struct hm_known *known)
{
    size_t bytes = 0;
    for (size_t i = 0; i < known->n_runs; i++)
        if (hm_decide_is_fast(known->run[i].node))
            bytes += hm_least(known->run[i].bytes, hm_less(known->used_bytes, known->run[i].offset));
    return bytes;
}

static void say_what_moved(struct hm_known *known, const struct hm_placed *placed)
{
    char size[2][24];
    if (placed->moved_bytes > 0 && known->policy != HM_ALLOC_SPILL)
        hm_reason_add(known->reason, "%s of %s are elsewhere, as there is no room where the policy wants them",
                      hm_size_format(placed->moved_bytes, size[0], sizeof(size[0])),
                      hm_size_format(known->data_bytes, size[1], sizeof(size[1])));
    if (placed->overflow_bytes > 0)
        hm_reason_add(known->reason, "no node has room for %s of the allocation now: the kernel will look for some",
                      hm_size_format(placed->overflow_bytes, size[0], sizeof(size[0])));
}

/* Take a mapping for each run after the first. Where the library may not use that many, make the allocation one block,
 * and return false. */
static bool take_mappings(struct hm_known *known)
{
    size_t more = known->n_runs - 1;
    if (more == 0)
        return true;
    if (hm_mappings_take_for_blocks(more)) {
        known->n_mappings += more;
        return true;
    }
    hm_reason_add(known->reason,
                  "the allocation is one block, as more blocks would need more mappings than hybridmem may use");
    known->block_bytes = known->data_bytes;
    return false;
}

/* Give back all mappings of the allocation but `n`. */
static void give_mappings(struct hm_known *known, size_t n)
{
    hm_mappings_give(known->n_mappings - n);
    known->n_mappings = n;
}

int hm_decide(struct hm_known *known, const struct hm_alloc_hint *hint, const struct hm_place_slices *fast,
              struct hm_folders *folders)
{
    struct hm_place place;
    struct hm_placed placed;
    const struct hm_set *allowed = hm_room_allowed();
    uint64_t room[HM_ALLOC_NODES];
    char said_before[HM_ALLOC_REASON] = ""; /* not read: gets the reasons again when the loop below is repeated */
    if (!allowed) {
        hm_reason_add(known->reason, "the kernel does not tell the nodes that may be used: %s", strerror(errno));
        return -1;
    }
    const struct hm_layout_wish wish = {known->policy,       *hint,   folders->n, folders->socket,
                                        folders->room_bytes, allowed, room};
    char *reason = known->reason;
    /* Repeated where too few mappings are left: the allocation is then one block. Also repeated where folders have too
     * little space: they are then left out. */
    do {
        give_mappings(known, HM_MAPPINGS_LEAST);
        hm_room_read(&layout, room);
        if (hm_layout_place(&layout, &wish, &place, reason) < 0)
            return -1;
        place.bytes = known->data_bytes;
        place.block_bytes = known->block_bytes;
        if (fast)
            place.first_slices = *fast;
        place.first_lane = hm_decide_lane(place.n_lanes);
        hm_place_blocks(&place, known->run, &placed);
        known->n_runs = placed.n_runs;
        reason = said_before;
    } while (!take_mappings(known) || hm_folders_reserve(folders, known->run, known->n_runs, known->reason) < 0);
    hm_decide_pass_lanes(known->data_bytes, known->block_bytes);
    say_what_moved(known, &placed);
    return 0;
}

bool hm_decide_is_in_folders(const struct hm_known *known)
{
    for (size_t i = 0; i < known->n_runs; i++)
        if (known->run[i].folder >= 0)
            return true;
    return false;
}

int hm_decide_bind(struct hm_known *known, size_t first, bool has_pages)
{
    for (size_t i = first; i < known->n_runs; i++) {
        const struct hm_alloc_run *run = &known->run[i];
        char *from = known->data + run->offset;
        if (run->node < 0 || (has_pages ? hm_kernel_move_to(from, run->bytes, run->node)
                                        : hm_kernel_prefer(from, run->bytes, run->node)) == 0)
            continue;
        hm_reason_add(known->reason, "the kernel does not bind memory to node %d: %s", run->node, strerror(errno));
        /* With the default policy again, the data is one mapping: give back the mappings of its runs. Where the
         * default cannot be set, or the data has files in it, hm_deallocate gives them back. */
        if (hm_kernel_default(known->data, known->data_bytes) == 0 && !hm_decide_is_in_folders(known))
            give_mappings(known, HM_MAPPINGS_LEAST);
        return -1;
    }
    return 0;
}
