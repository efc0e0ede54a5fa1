/* SPDX-License-Identifier: Apache-2.0 */
#include "split.h"

#include <stdbool.h>

#include "base/amount.h"

#define OPEN UINT64_MAX /* a part that is not decided yet */

/* The part that a weight has of `left`, which all open parts share; their weights add up to `weights`. */
static uint64_t part_of(uint64_t left, uint64_t weight, double weights)
{
    return hm_least((uint64_t)((double)left * ((double)weight / weights)), left);
}

static double weigh_open(const struct hm_sharer *sharers, size_t n, const uint64_t *parts)
{
    double weights = 0;
    for (size_t i = 0; i < n; i++)
        weights += parts[i] == OPEN ? (double)sharers[i].weight : 0;
    return weights;
}

/* Gives what they want to those who want no more than their part of *left. Returns whether there was one. */
static bool satisfy(const struct hm_sharer *sharers, size_t n, uint64_t *left, uint64_t *parts)
{
    const double weights = weigh_open(sharers, n, parts);
    const uint64_t shared = *left;
    bool has_changed = false;
    for (size_t i = 0; i < n; i++) {
        if (parts[i] != OPEN || sharers[i].wants_bytes > part_of(shared, sharers[i].weight, weights))
            continue;
        parts[i] = sharers[i].wants_bytes;
        *left = hm_less(*left, parts[i]);
        has_changed = true;
    }
    return has_changed;
}

void hm_share_split(const struct hm_sharer *sharers, size_t n, uint64_t bytes, uint64_t *parts)
{
    uint64_t left = bytes;
    for (size_t i = 0; i < n; i++)
        parts[i] = OPEN;
    while (satisfy(sharers, n, &left, parts))
        continue;
    const double weights = weigh_open(sharers, n, parts);
    const bool is_enough = weights == 0;
    for (size_t i = 0; i < n; i++) {
        if (is_enough)
            parts[i] += left;
        else if (parts[i] == OPEN)
            parts[i] = part_of(left, sharers[i].weight, weights);
    }
}
