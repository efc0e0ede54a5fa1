/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kdamond is lent to which client. A client has one at most; several processes of a client share it. The last
 * free one is kept for a user who has none, so that one user's jobs cannot take them all; and while others have some,
 * nobody gets more than half of all. Pure.
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

/* The client's kdamond, lent now where it has none. Returns its index, or -1: EBUSY, with a text that says how many
 * there are and why none is given. */
int hm_damon_pool_lend(struct hm_damon_pool *pool, uint32_t client, uid_t uid, struct hm_error *error);
/* Take it back; a client that has none is fine. */
void hm_damon_pool_take_back(struct hm_damon_pool *pool, uint32_t client);
/* How many are lent. */
unsigned hm_damon_pool_lent(const struct hm_damon_pool *pool);

#endif
