/* SPDX-License-Identifier: Apache-2.0 */
#include "thread.h"

#include <sched.h>

#include "base/amount.h"

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

void hm_damon_thread_end(struct hm_damon_lease *lease)
{
    if (lease->thread > 0) {
        hm_damon_thread_look(lease);
        lease->past_cpu_ns = hm_damon_lease_cpu_ns(lease);
        hm_damon_slots_pause((unsigned)lease->kdamond);
    }
    lease->thread = 0;
    lease->thread_cpu_ns = 0;
    lease->unsent += (uint32_t)lease->tracepoint.lost;
    hm_damon_tracepoint_close(&lease->tracepoint);
}
