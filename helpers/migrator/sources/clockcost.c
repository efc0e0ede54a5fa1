/* SPDX-License-Identifier: Apache-2.0 */
#include "clockcost.h"

#include <stdlib.h>

#include "base/clock.h"
#include "migrator/perf/slot.h"

#define PERIOD_NS 200000 /* between two samples: far more than one takes */
#define LEAST_NS 1000000 /* CPU time of a loop */
#define MOST_TURNS (1 << 22)
#define PAIRS 9 /* of loops, without samples and with them */
#define RING (64 << 10)

/* Returns how long a loop of `turns` takes, in ns of CPU time. */
static uint64_t run(uint64_t turns)
{
    uint64_t began = hm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t turn = 0; turn < turns; turn++)
        __asm__ volatile("" : "+r"(turn));
    return hm_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
}

/* The number of turns that take LEAST_NS at least; less where the clock stands still, as a simulated one may. */
static uint64_t find_turns(void)
{
    uint64_t turns = 1024;
    while (turns < MOST_TURNS && run(turns) < LEAST_NS)
        turns *= 2;
    return turns;
}

/* Returns the number of samples in the ring, which is then empty. */
static uint64_t count(struct hm_perf_slot *slot, const struct perf_event_attr *attr)
{
    struct hm_ring_sample sample[16];
    struct hm_ring_counts counts = {0};
    struct hm_perf_heads heads = hm_perf_slot_heads(slot);
    while (hm_perf_slot_read(slot, attr, &heads, sample, 16, &counts) > 0)
        ;
    return counts.samples + counts.lost;
}

static int compare(const void *a, const void *b)
{
    const double *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

/* The CPU time in seconds that a sample has added to a loop; negative: it cannot be told. */
static double try(struct hm_perf_slot *slot, const struct perf_event_attr *attr, uint64_t turns)
{
    uint64_t plain = run(turns);
    hm_perf_slot_enable(slot, true);
    uint64_t sampled = run(turns);
    hm_perf_slot_enable(slot, false);
    uint64_t n = count(slot, attr);
    return n > 0 && sampled > plain ? (double)(sampled - plain) / (double)n * 1e-9 : -1;
}

/* What disturbs a loop makes it longer, and what disturbs the one before makes the difference negative. So of the
 * positive ones the lower quartile is taken. */
double hm_clock_cost(const struct perf_event_attr *attr, int event)
{
    struct hm_perf_slot slot = {0};
    uint64_t turns = find_turns();
    double cost[PAIRS];
    size_t n = 0;
    if (hm_perf_slot_adopt(&slot, event, RING) != 0)
        return -1;
    hm_perf_slot_set_period(&slot, PERIOD_NS);
    for (int i = 0; i < PAIRS; i++) {
        cost[n] = try(&slot, attr, turns);
        n += cost[n] > 0;
    }
    hm_perf_slot_close(&slot);
    qsort(cost, n, sizeof(cost[0]), compare);
    return n > 0 ? cost[n / 4] : -1;
}
