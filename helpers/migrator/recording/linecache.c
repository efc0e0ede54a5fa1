/* SPDX-License-Identifier: Apache-2.0 */
#include "linecache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FOLD 11 /* bits: the index of a set is folded, as lines at a power of two from each other would share one */

struct hm_linecache {
    uint64_t n_sets;
    /* The lines of each set, most recently used first: (line + 1) << 1 | is_dirty; 0: none. */
    uint64_t way[][HM_LINECACHE_WAYS];
};

struct hm_linecache *hm_linecache_new(uint64_t bytes, struct hm_error *error)
{
    if (bytes == 0 || bytes % HM_LINECACHE_SET != 0 || bytes > HM_LINECACHE_MOST) {
        hm_fail(error, EINVAL, "a cache has 512 bytes to 1G, a multiple of 512");
        return NULL;
    }
    struct hm_linecache *cache = calloc(1, sizeof(*cache) + bytes / HM_LINECACHE_SET * sizeof(cache->way[0]));
    if (!cache) {
        hm_fail(error, ENOMEM, "no memory for the model of a cache");
        return NULL;
    }
    cache->n_sets = bytes / HM_LINECACHE_SET;
    return cache;
}

void hm_linecache_free(struct hm_linecache *cache)
{
    free(cache);
}

static uint64_t *find_set(struct hm_linecache *cache, uint64_t line)
{
    uint64_t folded = 0;
    for (uint64_t rest = line; rest > 0; rest >>= FOLD)
        folded ^= rest;
    return cache->way[folded % cache->n_sets];
}

bool hm_linecache_touch(struct hm_linecache *cache, uint64_t line, bool is_store, uint64_t *written)
{
    uint64_t *way = find_set(cache, line);
    uint64_t wanted = line + 1, entry = wanted << 1;
    unsigned at = 0;
    while (at < HM_LINECACHE_WAYS - 1 && way[at] >> 1 != wanted)
        at++;
    bool is_filled = way[at] >> 1 != wanted;
    *written = HM_LINECACHE_NONE;
    if (!is_filled)
        entry = way[at];
    else if (way[at] & 1)
        *written = (way[at] >> 1) - 1;
    memmove(way + 1, way, at * sizeof(*way));
    way[0] = entry | is_store;
    return is_filled;
}
