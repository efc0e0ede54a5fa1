/* SPDX-License-Identifier: Apache-2.0 */
/* The packers that take the hottest items first, hotset and thermos. */
#include <stdlib.h>

#include "pack.h"

/* "Selects sites until their aggregate size exceeds a soft capacity limit." */
int hm_pack_hotset(const struct hm_pack_scene *scene, const struct hm_pack_item *item, size_t n,
                   struct hm_pack_result *result)
{
    uint64_t used = 0, capacity = scene->capacity;
    size_t n_used = 0, *order = hm_pack_sort(item, n, &n_used);
    for (size_t i = 0; i < n_used && used < capacity; i++) {
        result->is_fast[order[i]] = true;
        used += item[order[i]].bytes;
    }
    free(order);
    return order ? 0 : -1;
}

/*
 * "It only assigns a new site to the upper tier if the bandwidth it contributes is greater than the aggregate bandwidth
 * of the hottest data it could potentially displace": as many bytes as it exceeds the capacity by, of what is there and
 * of its own. Its own part counts where it is larger than the tier: what finds no room contributes nothing. A site that
 * is left out does not end the search, as a smaller one may find room.
 */
int hm_pack_thermos(const struct hm_pack_scene *scene, const struct hm_pack_item *item, size_t n,
                    struct hm_pack_result *result)
{
    uint64_t used = 0, capacity = scene->capacity;
    size_t n_used = 0, *order = hm_pack_sort(item, n, &n_used);
    for (size_t i = 0; i < n_used && used < capacity; i++) {
        const struct hm_pack_item *next = &item[order[i]];
        result->is_fast[order[i]] = true;
        if (next->bytes > capacity - used &&
            !(next->value > hm_pack_hottest(item, order, i + 1, result->is_fast, next->bytes - (capacity - used))))
            result->is_fast[order[i]] = false;
        else
            used += next->bytes;
    }
    free(order);
    return order ? 0 : -1;
}
