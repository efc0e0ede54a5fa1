/* SPDX-License-Identifier: Apache-2.0 */
/* Splits the fast tier among the jobs that share it. Pure. */
#ifndef HM_CORE_SHARE_SPLIT_H
#define HM_CORE_SHARE_SPLIT_H

#include <stddef.h>
#include <stdint.h>

struct hm_sharer {
    uint64_t weight;      /* at least 1 */
    uint64_t wants_bytes; /* what it could use at most; UINT64_MAX: there is no limit */
};

/*
 * Splits `bytes` among `n` sharers, and writes their parts into `parts`, in bytes. This is max-min fairness by weight
 * (Bertsekas and Gallager, Data Networks, 6.5.2): each sharer has a part by its weight; one that wants less gets what
 * it wants, and the others share the rest in the same way. If all get what they want, the rest is added to each part,
 * as anybody may take it; else the parts add up to `bytes`, but for rounding.
 */
void hm_share_split(const struct hm_sharer *sharers, size_t n, uint64_t bytes, uint64_t *parts);

#endif
