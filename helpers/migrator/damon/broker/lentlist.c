/* SPDX-License-Identifier: Apache-2.0 */
#include "lentlist.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"

#define MOST_OF_USER (HM_DAMON_LENT_THREADS / 2)
#define SWEEP_NS UINT64_C(1000000000) /* each looks at all threads, and a user can ask often */

/* Forgets the threads that have ended. */
static void sweep(struct hm_damon_broker *broker)
{
    uint64_t now = hm_clock_ns(CLOCK_MONOTONIC);
    if (now < broker->sweep_ns)
        return;
    broker->sweep_ns = now + SWEEP_NS;
    for (int i = 0; i < HM_DAMON_LENT_THREADS; i++)
        if (broker->lent[i].thread.pid > 0 && !hm_process_is_running(&broker->lent[i].thread))
            broker->lent[i].thread.pid = 0;
}

/* Is there room for one more of the user's? */
static bool has_room(const struct hm_damon_broker *broker, uid_t owner)
{
    int n = 0, n_own = 0;
    for (int i = 0; i < HM_DAMON_LENT_THREADS; i++) {
        n += broker->lent[i].thread.pid > 0;
        n_own += broker->lent[i].thread.pid > 0 && broker->lent[i].owner == owner;
    }
    return n < HM_DAMON_LENT_THREADS && n_own < MOST_OF_USER;
}

int hm_damon_lentlist_check(struct hm_damon_broker *broker, const struct hm_process *thread, uid_t owner)
{
    for (int i = 0; i < HM_DAMON_LENT_THREADS; i++)
        if (broker->lent[i].thread.pid == thread->pid && broker->lent[i].thread.start_time == thread->start_time)
            return EALREADY;
    if (!has_room(broker, owner))
        sweep(broker);
    return has_room(broker, owner) ? 0 : EBUSY;
}

void hm_damon_lentlist_add(struct hm_damon_broker *broker, const struct hm_process *thread, uid_t owner)
{
    for (int i = 0; i < HM_DAMON_LENT_THREADS; i++) {
        if (broker->lent[i].thread.pid > 0)
            continue;
        broker->lent[i].thread = *thread;
        broker->lent[i].owner = owner;
        return;
    }
}

bool hm_damon_lentlist_runs(struct hm_damon_broker *broker)
{
    for (int i = 0; i < HM_DAMON_LENT_THREADS; i++)
        if (broker->lent[i].thread.pid > 0 && hm_process_is_running(&broker->lent[i].thread))
            return true;
    return false;
}
