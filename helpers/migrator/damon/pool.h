/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which kdamond is lent to which client. A client has at most one, for all its processes. The last free kdamond
 * is kept for a user who has none, so that one user's jobs cannot take all. While several users have kdamonds, nobody
 * gets more than half of all. Neither limit holds for root. Pure.
 */
#ifndef HM_MIGRATOR_DAMON_POOL_H
#define HM_MIGRATOR_DAMON_POOL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define HM_DAMON_KDAMONDS 16

struct hm_damon_pool {
    unsigned n; /* kdamonds, 1 .. HM_DAMON_KDAMONDS */
    struct {
        uint32_t client; /* 0: free */
        uid_t uid;
    } loan[HM_DAMON_KDAMONDS];
};

/*
 * Returns the index of the client's kdamond, and lends it one if it has none. -1 (EBUSY): it gets none; the text says
 * why, and how many kdamonds there are.
 */
int hm_damon_pool_lend(struct hm_damon_pool *pool, uint32_t client, uid_t uid, struct hm_error *error);
/* Takes the client's kdamond back, if it has one. */
void hm_damon_pool_take_back(struct hm_damon_pool *pool, uint32_t client);
/*
 * How much CPU time the kdamond of a client may use, in millionths of a CPU: `wanted`, but at most a tenth of the
 * `n_cpus` CPUs that the client may use. All kdamonds of a user share that tenth equally, but the limit is never below
 * HM_DAMON_MIN_BUDGET. Root has no limit.
 */
uint32_t hm_damon_pool_budget(const struct hm_damon_pool *pool, uid_t uid, unsigned n_cpus, uint32_t wanted);
/* How many kdamonds are lent, and how many of these to this user. */
unsigned hm_damon_pool_lent(const struct hm_damon_pool *pool);
unsigned hm_damon_pool_lent_to(const struct hm_damon_pool *pool, uid_t uid);

#endif
