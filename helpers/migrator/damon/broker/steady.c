/* SPDX-License-Identifier: Apache-2.0 */
#include "steady.h"

#include <errno.h>

#include "base/amount.h"
#include "base/clock.h"
#include "regions.h"
#include "send.h"
#include "target.h"
#include "thread.h"

#define SECOND_NS UINT64_C(1000000000)
#define FIRST_TUNE_LISTS 2      /* lists for each process that a measurement of the cost needs */
#define TUNE_NS (5 * SECOND_NS) /* time between two measurements of the cost */
#define SHARE 0.6               /* the kdamond's part of the budget; the rest is for the broker */
/* Share of the looks that found an access, above which warm and hot memory look alike; and the share of the memory that
 * must have been accessed at all: where most of it is idle, bursts would soon be calm (burst.c). */
#define SATURATED 0.75
#define USED 0.5

static uint32_t share_of(uint32_t budget)
{
    return (uint32_t)(SHARE * budget);
}

static uint32_t aggregation_ms(const struct hm_damon_lease *lease)
{
    return lease->steady.settings.look_us * lease->steady.settings.looks / 1000;
}

static void begin_measuring(struct hm_damon_lease *lease)
{
    lease->steady.set_ns = hm_clock_ns(CLOCK_MONOTONIC);
    lease->steady.set_cpu_ns = hm_damon_lease_cpu_ns(lease);
    lease->steady.n_lists = 0;
    lease->steady.bytes = lease->steady.accessed_bytes = lease->steady.touched_bytes = 0;
}

int hm_damon_steady_begin(struct hm_damon_broker *broker, struct hm_damon_lease *lease, bool is_new,
                          struct hm_error *error)
{
    lease->needs.budget = hm_damon_thread_budget(broker, lease, share_of(lease->wanted_budget));
    lease->steady.is_blind = false;
    if (is_new) {
        lease->steady.settings = hm_damon_tune_first(&lease->needs);
        lease->steady.is_tuned = false;
    } else { /* what was measured of these processes holds; their ranges may have changed */
        hm_damon_tune_min(&lease->needs, &lease->steady.settings);
    }
    pid_t thread = hm_damon_thread_check(broker, lease, error);
    if (thread == 0)
        thread = hm_damon_start((unsigned)lease->kdamond, &broker->owned, &lease->steady.settings, lease->target,
                                lease->n, error);
    lease->thread = thread > 0 ? thread : 0;
    if (!hm_damon_targets_live(lease->pidfd, lease->n))
        return hm_fail(error, ESRCH, "a process ended while its watch began");
    if (thread < 0 || hm_damon_tracepoint_open(&lease->tracepoint, &broker->layout, thread, error) != 0)
        return -1;
    begin_measuring(lease);
    return 0;
}

static void count(struct hm_damon_lease *lease, const struct hm_damon_gathering *list)
{
    lease->steady.n_lists++;
    for (uint32_t i = 0; i < list->n; i++) {
        double bytes = (double)(list->region[i].end - list->region[i].start);
        lease->steady.bytes += bytes;
        lease->steady.touched_bytes += list->region[i].accesses > 0 ? bytes : 0;
        lease->steady.accessed_bytes += bytes * list->region[i].accesses / lease->steady.settings.looks;
    }
}

/* Sends a list. It is the sink of hm_damon_tracepoint_read. */
static void take(void *data, const struct hm_damon_gathering *list)
{
    static struct hm_damon_region region[HM_DAMON_MOST_REGIONS];
    struct hm_damon_lease *lease = data;
    const struct hm_damon_settings *settings = &lease->steady.settings;
    if (list->target >= lease->n || !hm_damon_lease_owns(lease, list->target))
        return;
    for (uint32_t i = 0; i < list->n; i++)
        region[i] = (struct hm_damon_region){.start = list->region[i].start,
                                             .end = list->region[i].end,
                                             .accesses = (uint16_t)hm_least(list->region[i].accesses, settings->looks),
                                             .looks = (uint16_t)settings->looks,
                                             .look_us = settings->look_us};
    struct hm_damon_looked looked = {.way = HM_DAMON_STEADY, .span_ms = aggregation_ms(lease)};
    hm_damon_lease_send(lease, list->target, &looked, region, list->n);
    count(lease, list);
    lease->rounds += list->target + 1 == lease->n;
}

/* Is it time to compare the cost with the budget? At first this is soon, as the first settings are a guess. */
static bool is_due(const struct hm_damon_lease *lease, uint64_t passed_ns)
{
    return lease->steady.n_lists >= (uint64_t)FIRST_TUNE_LISTS * lease->n &&
           passed_ns >= (lease->steady.is_tuned ? TUNE_NS : SECOND_NS);
}

/*
 * Changes the settings of a running kdamond. The kernel answers at the end of an aggregation, and all clients wait
 * until then. So the next change, for any client, comes after a pause of the same length, in which clients are served.
 */
static int change(struct hm_damon_broker *broker, const struct hm_damon_lease *lease,
                  const struct hm_damon_settings *better)
{
    uint64_t begun_ns = hm_clock_ns(CLOCK_MONOTONIC);
    int result = hm_damon_thread_check(broker, lease, NULL);
    if (result == 0)
        result = hm_damon_change((unsigned)lease->kdamond, better, NULL);
    uint64_t ended_ns = hm_clock_ns(CLOCK_MONOTONIC);
    broker->change_ns = ended_ns + (ended_ns - begun_ns);
    return result;
}

/* Adapts the settings to what they cost. Returns 0, or -1 with a text if a process ended meanwhile (ESRCH). */
static int tune(struct hm_damon_broker *broker, struct hm_damon_lease *lease, struct hm_error *error)
{
    struct hm_damon_settings better = lease->steady.settings;
    uint64_t passed_ns = hm_clock_ns(CLOCK_MONOTONIC) - lease->steady.set_ns;
    if (!is_due(lease, passed_ns) || hm_clock_ns(CLOCK_MONOTONIC) < broker->change_ns)
        return 0;
    double touched = lease->steady.touched_bytes;
    struct hm_damon_measured measured = {
        .cpu_s = (double)(hm_damon_lease_cpu_ns(lease) - lease->steady.set_cpu_ns) / SECOND_NS,
        .wall_s = (double)passed_ns / SECOND_NS,
        .accessed = touched > 0 ? lease->steady.accessed_bytes / touched : -1,
        .used = lease->steady.bytes > 0 ? lease->steady.accessed_bytes / lease->steady.bytes : 0};
    lease->needs.budget = hm_damon_thread_budget(broker, lease, share_of(lease->wanted_budget));
    bool is_better = hm_damon_tune(&lease->needs, &measured, &better);
    /* Do most looks find most of the memory in use, although the budget allows no shorter time between them? */
    lease->steady.is_blind = measured.accessed > SATURATED && touched > USED * lease->steady.bytes &&
                             better.look_us >= lease->steady.settings.look_us;
    lease->steady.is_tuned = true;
    /* On a change the kernel looks up the processes by their numbers again. That is safe only while they live. */
    if (is_better && !lease->steady.is_blind && hm_damon_targets_live(lease->pidfd, lease->n) &&
        change(broker, lease, &better) == 0) {
        /* the lists that are waiting were made under the old settings */
        hm_damon_tracepoint_read(&lease->tracepoint, &broker->layout, take, lease);
        lease->steady.settings = better;
        if (!hm_damon_targets_live(lease->pidfd, lease->n))
            return hm_fail(error, ESRCH, "a process ended while the settings of its watch changed");
    }
    begin_measuring(lease);
    return 0;
}

int hm_damon_steady_work(struct hm_damon_broker *broker, struct hm_damon_lease *lease, struct hm_error *error)
{
    hm_damon_thread_look(lease);
    hm_damon_tracepoint_read(&lease->tracepoint, &broker->layout, take, lease);
    return lease->is_lost ? 0 : tune(broker, lease, error);
}

bool hm_damon_steady_is_blind(const struct hm_damon_lease *lease)
{
    return lease->steady.is_blind;
}

int hm_damon_steady_wait_ms(const struct hm_damon_lease *lease)
{
    return lease->thread > 0 ? (int)aggregation_ms(lease) : -1;
}
