/* SPDX-License-Identifier: Apache-2.0 */
#include "urgent.h"

#include <sched.h>
#include <stdbool.h>

#define NONE (-1)

static _Thread_local int before = NONE; /* the policy to go back to */

static bool is_real_time(int policy)
{
    policy &= ~SCHED_RESET_ON_FORK;
    return policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_DEADLINE;
}

/* The process 0 is the calling thread alone. */
void hm_urgent_begin(void)
{
    int policy = sched_getscheduler(0);
    if (policy < 0 || is_real_time(policy))
        return;
    /* The kernel refuses it without CAP_SYS_NICE, and with CONFIG_RT_GROUP_SCHED in a cgroup without real-time
     * runtime. */
    if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &(struct sched_param){.sched_priority = 1}) == 0)
        before = policy;
}

void hm_urgent_end(void)
{
    const struct sched_param ordinary = {0};
    if (before == NONE)
        return;
    /* To become ordinary needs no right, but to take SCHED_RESET_ON_FORK away needs CAP_SYS_NICE. */
    if (sched_setscheduler(0, before, &ordinary) != 0)
        (void)sched_setscheduler(0, before | SCHED_RESET_ON_FORK, &ordinary);
    before = NONE;
}
