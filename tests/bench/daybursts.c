/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker of DAMON of the simulated node (daysim.h), which looks in bursts. What is looked at, when and for how long
 * is chosen by the broker's own code (migrator/damon/probing.h); a look finds a page in use with the probability
 * 1 - exp(-rate * time).
 */
#include <math.h>
#include <string.h>

#include "base/advance.h"
#include "daysim.h"
#include "migrator/damon/probing.h"

#define PAGE 4096
#define STEADY_S 10                 /* looks all the time until then: they find all memory in use */
#define DISTURBED 10                /* of so many slices, one goes to others */
#define SLICE_S 0.004               /* how long a rank has a CPU that it shares */
#define CREDIT_NS (30 * DAY_SECOND) /* as in migrator/damon/broker/burst.c */

struct day_visit_costs day_visit_costs = {.set_up_ns = 50000, .look_ns = 25000, .pass_ns = 40000, .burst_ns = 16000000};

static struct {
    uint64_t begun_ns; /* when the watch began; 0: there is none */
    bool is_bursting;  /* looks all the time have ended */
    bool is_on;        /* a burst runs */
    uint64_t on_ns;    /* when the burst began */
    uint64_t due_ns;   /* when it ends, or the next one begins */
    uint64_t paid_ns;  /* until when the budget has paid for what was spent */
    double owed_s;     /* of the advance */
    struct hm_damon_probing probing;
    struct hm_damon_burst burst;
    struct hm_damon_seen seen[HM_DAMON_MOST_PROBES];
} broker;

/* Send what was found of a process. */
static void tell(uint32_t process, enum hm_damon_way way, const struct hm_damon_region *region, uint32_t n)
{
    uint32_t done = 0;
    do {
        uint32_t part = n - done < HM_DAMON_REGIONS ? n - done : HM_DAMON_REGIONS;
        struct hm_damon_list list = {
            .process = process,
            .rounds = broker.probing.rounds,
            .span_ms = way == HM_DAMON_STEADY ? 5000 : (uint32_t)(broker.probing.span_ns / 1000000) + 1,
            .scatter = way == HM_DAMON_STEADY ? 0 : (uint32_t)((hm_damon_probing_spread(&broker.probing) - 1) * 1000),
            .lost = day_broker.lost,
            .way = way,
            .cpu_ns = day_broker.cpu_ns};
        size_t size = hm_damon_wire_begin(&list, HM_DAMON_LIST, day_broker.watch.head.generation, part);
        if (part > 0)
            memcpy(list.region, region + done, part * sizeof(*region));
        day_broker_send(&list, size);
        done += part;
    } while (done < n);
}

/* The needs that the client has. */
static struct hm_damon_needs needs_of(void)
{
    struct hm_damon_needs needs = {.interval_ms = day_broker.watch.interval_ms, .budget = day_broker.watch.budget};
    needs.n_processes = day_broker.watch.head.n;
    return needs;
}

void day_broker_take(void)
{
    day_broker_answer(0, "");
    broker.begun_ns = day_broker.watch.head.n > 0 ? day_now_ns() : 0;
    broker.due_ns = broker.begun_ns + STEADY_S * DAY_SECOND;
    broker.is_bursting = broker.is_on = false;
}

/* Looks all the time have found all memory in use: bursts take their place. */
static void begin_bursts(uint64_t now)
{
    const struct hm_damon_needs needs = needs_of();
    for (uint32_t p = 0; p < day_broker.watch.head.n; p++)
        for (uint32_t r = 0; r < day_broker.watch.process[p].n_ranges; r++) {
            const struct hm_damon_range *range = &day_broker.watch.process[p].range[r];
            const struct hm_damon_region all = {
                .start = range->start, .end = range->end, .accesses = 20, .looks = 20, .look_us = 250000};
            tell(p, HM_DAMON_STEADY, &all, 1);
        }
    hm_damon_probing_begin(&broker.probing, day_broker.watch.process, day_broker.watch.head.n, &needs, now);
    for (uint32_t p = 0; p < day_broker.watch.head.n; p++)
        hm_damon_probing_set_share(&broker.probing, p, day_share);
    broker.is_bursting = true;
    broker.paid_ns = now > CREDIT_NS ? now - CREDIT_NS : 0;
}

/* Time for which a look goes over all pages, in s. It does so twice, before and after the wait. */
static double pass_s(void)
{
    return (double)broker.burst.n * (double)day_visit_costs.pass_ns * 1e-9;
}

/* Time between two looks at one page, in s: the wait, and one of the two passes. */
static double look_s(void)
{
    return broker.burst.look_us * 1e-6 + pass_s() / 2;
}

/* Does the rank run in this slice of time? Two ranks that share a CPU take turns, but now and then one has to wait for
 * others. */
static bool has_slice(uint64_t slice, uint64_t rank)
{
    struct hm_random random = {slice * DAY_RANKS + rank};
    bool is_disturbed = hm_random_next(&random) % DISTURBED == 0;
    return day_share >= 1 || ((slice + rank) % 2 == 0 && !is_disturbed);
}

/* How long from now on (s) the processor knows a page that is used at this rate: it loses what it knows by chance. */
static double hidden_s(double rate)
{
    bool is_known = (double)day_random(UINT64_C(1) << 32) < rate / (rate + day_evictions) * 0x1p32;
    return is_known ? -log1p(-(double)day_random(UINT64_C(1) << 32) * 0x1p-32) / day_evictions : 0;
}

/*
 * How long the use of a page can be seen between two times (s), if it is used at this rate while its rank runs. A use
 * is seen where the processor has to look the page up anew: as each slice begins, and until then if the page was not
 * used since the last slice began.
 */
static double seen_s(uint64_t rank, double rate, double from, double to)
{
    double seen = 0, known_from = -1; /* since when the processor may know the page */
    uint64_t first = (uint64_t)(from / SLICE_S);
    if (day_share >= 1)
        return fmax(to - from - hidden_s(rate), 0);
    while (has_slice(first - 1, rank))
        first--;
    if (has_slice(first, rank))
        known_from = (double)first * SLICE_S;
    bool is_stale = known_from >= 0 && known_from < from &&
                    (double)day_random(UINT64_C(1) << 32) > exp(-rate * (from - known_from)) * 0x1p32;
    bool ran = is_stale;
    for (uint64_t slice = (uint64_t)(from / SLICE_S); (double)slice * SLICE_S < to; slice++) {
        double begins = fmax(from, (double)slice * SLICE_S), ends = fmin(to, (double)(slice + 1) * SLICE_S);
        bool runs = has_slice(slice, rank);
        is_stale = is_stale && runs && ran;
        if (runs && !is_stale)
            seen += ends - begins;
        ran = runs;
    }
    return seen;
}

/* How many of a visit's looks find a use, of the i-th page of the burst. */
static uint32_t visit(unsigned i)
{
    const struct hm_damon_probe *probe = &broker.burst.probe[i];
    const struct day_rank *rank = day_rank_find(day_broker.watch.process[probe->process].pid);
    double rate = rank ? day_rate(rank, probe->page) / fmin(day_share, 1) : 0;
    double period = broker.burst.look_us * 1e-6 + pass_s();
    double at = (double)broker.on_ns * 1e-9 + (double)i / broker.burst.n * pass_s() / 2;
    uint32_t accesses = 0;
    for (int look = 0; look < HM_DAMON_VISIT_LOOKS; look++, at += period) {
        double seen = seen_s((uint64_t)(rank - day_rank), rate, at, at + look_s());
        accesses += (double)day_random(UINT64_C(1) << 32) < (1 - exp(-rate * seen)) * 0x1p32;
    }
    return accesses;
}

/* Take what the burst has found of a process, whose first page is the i-th one. Returns the next process's first. */
static unsigned take_of(unsigned i, uint32_t look_us)
{
    static struct hm_damon_region region[HM_DAMON_MOST_PROBES];
    const struct hm_damon_burst *burst = &broker.burst;
    uint32_t process = burst->probe[i].process, n = 0;
    struct hm_damon_visit visit = {.look_us = look_us};
    hm_damon_probing_count_looks(&broker.probing, burst, i, broker.seen, &visit);
    for (; i < burst->n && burst->probe[i].process == process; i++) {
        visit.accesses = broker.seen[i].accesses;
        n += hm_damon_probing_take(&broker.probing, burst, i, &visit, &region[n]);
    }
    if (n > 0)
        tell(process, HM_DAMON_BURSTS, region, n);
    return i;
}

/* Set when the next burst may begin, after one that has taken so much CPU time: as in burst.c. */
static void settle(uint64_t now, uint64_t spent_ns)
{
    double rate = hm_advance_rate((double)(now - broker.begun_ns) / 1e9, broker.owed_s);
    double budget = day_broker.watch.budget * rate, share = 0.5 + (double)day_random(1000) / 1000;
    broker.owed_s = fmax(broker.owed_s + (double)spent_ns * 1e-9 * (1 - 1 / rate), 0);
    broker.paid_ns += (uint64_t)(share * (double)spent_ns / (budget * 1e-6));
    broker.due_ns = broker.paid_ns > now ? broker.paid_ns : now;
}

static void end_burst(uint64_t now)
{
    const struct hm_damon_needs needs = needs_of();
    struct hm_damon_burst *burst = &broker.burst;
    uint64_t spent_ns =
        day_visit_costs.burst_ns +
        burst->n * (day_visit_costs.set_up_ns + HM_DAMON_VISIT_LOOKS * (uint64_t)day_visit_costs.look_ns);
    uint32_t rounds = broker.probing.rounds;
    for (unsigned i = 0; i < burst->n; i++)
        broker.seen[i] = (struct hm_damon_seen){true, visit(i)};
    uint32_t look_us = hm_damon_probing_learn_pass(&broker.probing, burst, broker.burst.look_us + pass_s() * 1e6);
    day_broker.cpu_ns += spent_ns;
    for (unsigned i = 0; i < burst->n;)
        i = take_of(i, look_us);
    settle(now, spent_ns);
    hm_damon_probing_end(&broker.probing, burst, (double)spent_ns * 1e-9, &needs, now);
    if (broker.probing.rounds > rounds)
        tell(0, HM_DAMON_BURSTS, NULL, 0);
}

uint64_t day_bursts_work(void)
{
    uint64_t now = day_now_ns();
    if (broker.begun_ns == 0)
        return UINT64_MAX;
    if (now < broker.due_ns)
        return broker.due_ns;
    if (!broker.is_bursting)
        begin_bursts(now);
    else if (broker.is_on)
        end_burst(now);
    if (broker.is_on || !broker.is_bursting) {
        broker.is_on = false;
        return broker.due_ns;
    }
    broker.paid_ns = now > CREDIT_NS && broker.paid_ns < now - CREDIT_NS ? now - CREDIT_NS : broker.paid_ns;
    hm_damon_probing_choose(&broker.probing, &broker.burst);
    broker.is_on = true;
    broker.on_ns = now;
    broker.due_ns = now + (uint64_t)((broker.burst.look_us * 1e-6 + pass_s()) * 1e9) * HM_DAMON_VISIT_LOOKS;
    return broker.due_ns;
}
