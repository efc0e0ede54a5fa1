/* SPDX-License-Identifier: Apache-2.0 */
#include "kept.h"

#include <stdatomic.h>
#include <string.h>

#include "kernel.h"

#define MIB ((size_t)1 << 20)
#define MOST_BYTES (64 * MIB)
#define MOST_BYTES_OF_ONE (32 * MIB)
#define MOST 64
#define AGE_NS UINT64_C(1000000000)

/* In the order in which they were freed. */
static struct {
    struct hm_known *known;
    uint64_t freed_ns;
} kept[MOST];
static size_t n_kept;
static atomic_size_t kept_bytes;

size_t hm_kept_bytes(void)
{
    return atomic_load_explicit(&kept_bytes, memory_order_relaxed);
}

static struct hm_known *remove_at(size_t at)
{
    struct hm_known *known = kept[at].known;
    memmove(&kept[at], &kept[at + 1], (--n_kept - at) * sizeof(kept[0]));
    atomic_fetch_sub(&kept_bytes, known->data_bytes);
    return known;
}

/* A share of an allocation is where its limit was then. */
bool hm_kept_put(struct hm_known *known)
{
    bool is_whole = known->policy == HM_ALLOC_FAST || known->policy == HM_ALLOC_SLOW;
    if (!is_whole || known->n_runs == 0 || known->reason[0] || known->data_bytes > MOST_BYTES_OF_ONE || n_kept == MOST)
        return false;
    kept[n_kept].known = known;
    kept[n_kept++].freed_ns = hm_kernel_now_ns();
    atomic_fetch_add(&kept_bytes, known->data_bytes);
    return true;
}

struct hm_known *hm_kept_take(size_t least_bytes, size_t most_bytes, int policy, size_t alignment)
{
    size_t best = n_kept, best_bytes = most_bytes;
    for (size_t i = 0; i < n_kept; i++) {
        const struct hm_known *known = kept[i].known;
        if (known->policy == policy && known->data_bytes >= least_bytes && known->data_bytes <= best_bytes &&
            (uintptr_t)known->data % alignment == 0) {
            best = i;
            best_bytes = known->data_bytes;
        }
    }
    return best < n_kept ? remove_at(best) : NULL;
}

struct hm_known *hm_kept_take_out(bool all)
{
    struct hm_known *chain = NULL;
    uint64_t now_ns = n_kept > 0 ? hm_kernel_now_ns() : 0;
    while (n_kept > 0 &&
           (all || n_kept == MOST || hm_kept_bytes() > MOST_BYTES || now_ns - kept[0].freed_ns > AGE_NS)) {
        struct hm_known *known = remove_at(0);
        known->next = chain;
        chain = known;
    }
    return chain;
}
