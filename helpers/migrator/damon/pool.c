/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#include <errno.h>

#include "wire.h"

#define HIGHEST_PERCENT 10 /* a user's kdamonds together may use at most this percentage of the client's CPUs */

unsigned hm_damon_pool_lent(const struct hm_damon_pool *pool)
{
    unsigned lent = 0;
    for (unsigned k = 0; k < pool->n; k++)
        lent += pool->loan[k].client != 0;
    return lent;
}

unsigned hm_damon_pool_lent_to(const struct hm_damon_pool *pool, uid_t uid)
{
    unsigned n = 0;
    for (unsigned k = 0; k < pool->n; k++)
        n += pool->loan[k].client != 0 && pool->loan[k].uid == uid;
    return n;
}

int hm_damon_pool_lend(struct hm_damon_pool *pool, uint32_t client, uid_t uid, struct hm_error *error)
{
    unsigned n_lent = hm_damon_pool_lent(pool), n_own = hm_damon_pool_lent_to(pool, uid);
    int first_free = -1;
    for (unsigned k = 0; k < pool->n; k++) {
        if (pool->loan[k].client == client)
            return (int)k;
        if (pool->loan[k].client == 0 && first_free < 0)
            first_free = (int)k;
    }
    if (first_free < 0)
        return hm_fail(error, EBUSY, "no kdamond is free: all %u are lent to other jobs on this node", pool->n);
    if (uid != 0 && n_own > 0 && n_lent + 1 == pool->n)
        return hm_fail(error, EBUSY, "no kdamond is free: the last of %u is kept for a user who has none", pool->n);
    if (uid != 0 && n_lent > n_own && n_own >= pool->n / 2)
        return hm_fail(error, EBUSY, "no kdamond is free: others have some, and you have half of the %u", pool->n);
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

uint32_t hm_damon_pool_budget(const struct hm_damon_pool *pool, uid_t uid, unsigned n_cpus, uint32_t wanted)
{
    unsigned n = hm_damon_pool_lent_to(pool, uid);
    uint64_t most = (uint64_t)n_cpus * (HM_DAMON_MAX_BUDGET / 100) * HIGHEST_PERCENT / (n > 0 ? n : 1);
    most = most > HM_DAMON_MIN_BUDGET ? most : HM_DAMON_MIN_BUDGET;
    return uid == 0 || wanted < most ? wanted : (uint32_t)most;
}
