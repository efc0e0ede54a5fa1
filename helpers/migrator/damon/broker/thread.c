/* SPDX-License-Identifier: Apache-2.0 */
#include "thread.h"

#include <errno.h>
#include <sched.h>

#include "base/amount.h"
#include "base/clock.h"

/* The broker serves nobody while it turns a kdamond on, or waits until it is off. It does so for one user's kdamonds
 * together for this part of the time at most, as with messages (pauses.h). */
#define BLOCKED 16

uint32_t hm_damon_thread_budget(const struct hm_damon_broker *broker, const struct hm_damon_lease *lease,
                                uint32_t wanted)
{
    cpu_set_t cpus[8]; /* 8192 CPUs: the call fails where the kernel has more than there is room for */
    /* It also fails where the process that connected has ended, and another one has its connection now. Then the
     * budget is the least one. */
    bool is_known = sched_getaffinity(lease->peer.pid, sizeof(cpus), cpus) == 0;
    unsigned n_cpus = is_known ? (unsigned)CPU_COUNT_S(sizeof(cpus), cpus) : 0;
    wanted = wanted > HM_DAMON_MIN_BUDGET ? wanted : HM_DAMON_MIN_BUDGET;
    return hm_damon_pool_budget(&broker->pool, lease->peer.owner, n_cpus, wanted);
}

void hm_damon_thread_look(struct hm_damon_lease *lease)
{
    uint64_t seen = lease->thread > 0 ? hm_damon_cpu_ns(lease->thread) : 0;
    lease->thread_cpu_ns = hm_most(seen, lease->thread_cpu_ns);
}

uint64_t hm_damon_thread_rest(const struct hm_damon_broker *broker, const struct hm_damon_lease *lease,
                              uint64_t blocked_ns)
{
    uint64_t rest_ns = BLOCKED * blocked_ns * hm_damon_pool_lent_to(&broker->pool, lease->peer.owner);
    return hm_clock_ns(CLOCK_MONOTONIC) + rest_ns;
}

int hm_damon_thread_check(struct hm_damon_broker *broker, const struct hm_damon_lease *lease, struct hm_error *error)
{
    if (hm_damon_check_owned((unsigned)lease->kdamond, broker->state_path, &broker->owned, error) == 0)
        return 0;
    int number = errno;
    if (broker->owned.n == 0)
        for (unsigned k = 0; k < HM_DAMON_KDAMONDS; k++)
            hm_damon_slots_close(&broker->slots[k], k, &broker->owned);
    errno = number;
    return -1;
}

int hm_damon_thread_end(const struct hm_damon_broker *broker, struct hm_damon_lease *lease)
{
    if (lease->thread > 0) {
        uint64_t begun_ns = hm_clock_ns(CLOCK_MONOTONIC);
        hm_damon_thread_look(lease);
        if (begun_ns < lease->off_ns)
            return -1;
        if (hm_damon_turn_off((unsigned)lease->kdamond, &broker->owned) != 0) {
            lease->off_ns = hm_damon_thread_rest(broker, lease, hm_clock_ns(CLOCK_MONOTONIC) - begun_ns);
            return -1;
        }
        lease->past_cpu_ns = hm_damon_lease_cpu_ns(lease);
    }
    lease->idle.is_on = false;
    lease->thread = 0;
    lease->thread_cpu_ns = 0;
    lease->unsent += (uint32_t)lease->tracepoint.lost;
    hm_damon_tracepoint_close(&lease->tracepoint);
    return 0;
}

void hm_damon_thread_forget(struct hm_damon_broker *broker, const struct hm_damon_lease *lease)
{
    if (!lease->by_bitmap)
        hm_damon_slots_close(&broker->slots[lease->kdamond], (unsigned)lease->kdamond, &broker->owned);
}
