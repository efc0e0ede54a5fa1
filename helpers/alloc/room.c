/* SPDX-License-Identifier: Apache-2.0 */
#include "room.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/amount.h"
#include "kernel.h"

#define LOOK_NS UINT64_C(100000000) /* from one look to the next */

/* By index of the layout's nodes. `placed`: since the last look, less what was freed. */
static uint64_t promised[HM_ALLOC_NODES], most_free[HM_ALLOC_NODES], last_free[HM_ALLOC_NODES], placed[HM_ALLOC_NODES];
static struct hm_set allowed;
static int allowed_errno;
static atomic_bool has_looked;
static _Atomic uint64_t next_look_ns;

uint64_t hm_room_of(uint64_t free_bytes, uint64_t most_bytes, uint64_t promised_bytes)
{
    uint64_t left = most_bytes > promised_bytes ? most_bytes - promised_bytes : 0;
    return left < free_bytes ? left : free_bytes;
}

/* Is it this thread that looks? Until one has looked, all do. */
static bool is_due(bool at_once)
{
    uint64_t now_ns = hm_kernel_now_ns(), due_ns = atomic_load(&next_look_ns);
    if (at_once || !atomic_load(&has_looked)) {
        atomic_store(&next_look_ns, now_ns + LOOK_NS);
        return true;
    }
    return now_ns >= due_ns && atomic_compare_exchange_strong(&next_look_ns, &due_ns, now_ns + LOOK_NS);
}

void hm_room_look(const struct hm_layout *layout, bool at_once, struct hm_room_look *look)
{
    look->is_new = is_due(at_once);
    if (!look->is_new)
        return;
    look->allowed_errno = hm_kernel_allowed(&look->allowed) < 0 ? errno : 0;
    for (int i = 0; i < layout->n_nodes; i++)
        if (hm_kernel_free_bytes(layout->node[i].id, &look->free_bytes[i]) < 0)
            look->free_bytes[i] = UINT64_MAX;
}

void hm_room_note(const struct hm_layout *layout, const struct hm_room_look *look)
{
    if (!look->is_new)
        return;
    allowed_errno = look->allowed_errno;
    allowed = look->allowed;
    for (int i = 0; i < layout->n_nodes; i++) {
        last_free[i] = look->free_bytes[i];
        placed[i] = 0;
        if (last_free[i] != UINT64_MAX && (promised[i] == 0 || last_free[i] > most_free[i]))
            most_free[i] = last_free[i];
    }
    atomic_store(&has_looked, true);
}

const struct hm_set *hm_room_allowed(void)
{
    errno = allowed_errno;
    return allowed_errno == 0 ? &allowed : NULL;
}

void hm_room_read(const struct hm_layout *layout, uint64_t room_bytes[HM_ALLOC_NODES])
{
    for (int i = 0; i < layout->n_nodes; i++)
        room_bytes[i] = last_free[i] == UINT64_MAX
                            ? UINT64_MAX
                            : hm_room_of(hm_less(last_free[i], placed[i]), most_free[i], promised[i]);
}

/* Returns the node's index in the layout; -1: it has none. */
static int find(const struct hm_layout *layout, int node)
{
    for (int i = 0; i < layout->n_nodes && node >= 0; i++)
        if (layout->node[i].id == node)
            return i;
    return -1;
}

void hm_room_take(const struct hm_layout *layout, const struct hm_alloc_run *run, size_t n_runs)
{
    for (size_t i = 0; i < n_runs; i++) {
        int at = find(layout, run[i].node);
        if (at >= 0) {
            promised[at] += run[i].bytes;
            placed[at] += run[i].bytes;
        }
    }
}

void hm_room_give(const struct hm_layout *layout, const struct hm_alloc_run *run, size_t n_runs)
{
    for (size_t i = 0; i < n_runs; i++) {
        int at = find(layout, run[i].node);
        if (at >= 0) {
            promised[at] -= run[i].bytes;
            placed[at] = hm_less(placed[at], run[i].bytes);
        }
    }
}
