/* SPDX-License-Identifier: Apache-2.0 */
#include "damonpool.h"

#include <errno.h>
#include <stdbool.h>

unsigned hm_damon_pool_lent(const struct hm_damon_pool *pool)
{
    unsigned lent = 0;
    for (unsigned k = 0; k < pool->n; k++)
        lent += pool->loan[k].client != 0;
    return lent;
}

int hm_damon_pool_lend(struct hm_damon_pool *pool, uint32_t client, uid_t uid, struct hm_error *error)
{
    unsigned n_free = pool->n - hm_damon_pool_lent(pool);
    bool has_other = false;
    int first_free = -1;
    for (unsigned k = 0; k < pool->n; k++) {
        if (pool->loan[k].client == client)
            return (int)k;
        if (pool->loan[k].client == 0 && first_free < 0)
            first_free = (int)k;
        has_other = has_other || (pool->loan[k].client != 0 && pool->loan[k].uid == uid);
    }
    if (n_free == 0)
        return hm_fail(error, EBUSY, "no kdamond is free: all %u are lent to other jobs on this node", pool->n);
    if (n_free == 1 && has_other && uid != 0)
        return hm_fail(error, EBUSY, "no kdamond is free: the last of %u is kept for a user who has none", pool->n);
    pool->loan[first_free].client = client;
    pool->loan[first_free].uid = uid;
    return first_free;
}

void hm_damon_pool_take_back(struct hm_damon_pool *pool, uint32_t client)
{
    for (unsigned k = 0; k < pool->n; k++)
        if (pool->loan[k].client == client)
            pool->loan[k].client = 0;
}
