/* SPDX-License-Identifier: Apache-2.0 */
#include "room.h"

#include "kernel.h"

static uint64_t promised[HM_ALLOC_NODES], most_free[HM_ALLOC_NODES]; /* by index of the layout's nodes */

uint64_t hm_room_of(uint64_t free_bytes, uint64_t most_bytes, uint64_t promised_bytes)
{
    uint64_t left = most_bytes > promised_bytes ? most_bytes - promised_bytes : 0;
    return left < free_bytes ? left : free_bytes;
}

void hm_room_read(const struct hm_layout *layout, uint64_t room_bytes[HM_ALLOC_NODES])
{
    for (int i = 0; i < layout->n_nodes; i++) {
        uint64_t free_bytes;
        if (hm_kernel_free_bytes(layout->node[i].id, &free_bytes) < 0) {
            room_bytes[i] = UINT64_MAX;
            continue;
        }
        if (promised[i] == 0 || free_bytes > most_free[i])
            most_free[i] = free_bytes;
        room_bytes[i] = hm_room_of(free_bytes, most_free[i], promised[i]);
    }
}

static void add(const struct hm_layout *layout, const struct hm_alloc_run *run, size_t n_runs, int sign)
{
    for (size_t i = 0; i < n_runs; i++)
        for (int node = 0; node < layout->n_nodes && run[i].node >= 0; node++)
            if (layout->node[node].id == run[i].node)
                promised[node] += sign > 0 ? run[i].bytes : -run[i].bytes;
}

void hm_room_take(const struct hm_layout *layout, const struct hm_alloc_run *run, size_t n_runs)
{
    add(layout, run, n_runs, 1);
}

void hm_room_give(const struct hm_layout *layout, const struct hm_alloc_run *run, size_t n_runs)
{
    add(layout, run, n_runs, -1);
}
