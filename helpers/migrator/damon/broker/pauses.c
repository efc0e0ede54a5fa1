/* SPDX-License-Identifier: Apache-2.0 */
#include "pauses.h"

#include <time.h>

#include "base/amount.h"
#include "base/clock.h"

#define SECOND_NS UINT64_C(1000000000)
#define SHARE 16                 /* a pause is this many times as long as the work before it */
#define SHORTEST (SECOND_NS / 2) /* shortest pause of a client, as each of its messages restarts a kdamond */
/* A user's pause is longer than this only if the work took CPU time: the migrator of their next step waits for an
 * answer. */
#define LONGEST (5 * SECOND_NS)

struct hm_damon_moment hm_damon_moment(void)
{
    return (struct hm_damon_moment){hm_clock_ns(CLOCK_MONOTONIC), hm_clock_ns(CLOCK_PROCESS_CPUTIME_ID)};
}

/* When the client's own pause is over. */
static uint64_t own_ns(const struct hm_damon_lease *lease)
{
    return lease->asked_ns ? lease->asked_ns + hm_most(SHARE * lease->served_ns, SHORTEST) : 0;
}

/* When this user's pause is over, to be set by the caller. Where all entries are taken, the pause that ends first is
 * forgotten. */
static uint64_t *until_of(struct hm_damon_pauses *pauses, uid_t owner)
{
    int at = 0;
    for (int i = 0; i < HM_DAMON_CLIENTS && pauses->of_user[at].owner != owner; i++)
        if (pauses->of_user[i].owner == owner || pauses->of_user[i].until_ns < pauses->of_user[at].until_ns)
            at = i;
    if (pauses->of_user[at].owner != owner)
        pauses->of_user[at].until_ns = 0;
    pauses->of_user[at].owner = owner;
    return &pauses->of_user[at].until_ns;
}

void hm_damon_pauses_charge(struct hm_damon_pauses *pauses, uid_t owner, const struct hm_damon_moment *before)
{
    const struct hm_damon_moment now = hm_damon_moment();
    uint64_t cpu_ns = now.cpu_ns - before->cpu_ns;
    uint64_t wait_ns = hm_least(SHARE * (now.wall_ns - before->wall_ns), LONGEST);
    pauses->until_ns = hm_most(pauses->until_ns, now.wall_ns) + cpu_ns;
    if (owner == 0)
        return;
    uint64_t *until_ns = until_of(pauses, owner);
    *until_ns = hm_most(hm_most(*until_ns, now.wall_ns) + SHARE * cpu_ns, now.wall_ns + wait_ns);
}

void hm_damon_pauses_leave(struct hm_damon_pauses *pauses, const struct hm_damon_lease *lease)
{
    if (lease->peer.owner == 0)
        return;
    uint64_t *until_ns = until_of(pauses, lease->peer.owner);
    *until_ns = hm_most(*until_ns, hm_least(own_ns(lease), hm_clock_ns(CLOCK_MONOTONIC) + LONGEST));
}

uint64_t hm_damon_pauses_turn(const struct hm_damon_pauses *pauses, const struct hm_damon_lease *lease)
{
    uint64_t turn_ns = hm_most(own_ns(lease), pauses->until_ns);
    for (int i = 0; i < HM_DAMON_CLIENTS; i++)
        if (pauses->of_user[i].owner == lease->peer.owner)
            turn_ns = hm_most(turn_ns, pauses->of_user[i].until_ns);
    return turn_ns;
}
