/* SPDX-License-Identifier: Apache-2.0 */
#include "burst.h"

#include <string.h>

#include "base/advance.h"
#include "base/amount.h"
#include "base/clock.h"
#include "burstlists.h"
#include "idlelooks.h"
#include "send.h"
#include "target.h"
#include "thread.h"

#define SECOND_NS UINT64_C(1000000000)
#define MS_NS (SECOND_NS / 1000)
#define CALM_US 64000  /* between two looks, or more: so much time the looks of a kdamond that never stops have, too */
#define CALM_SHARE 0.7 /* of the blocks */
#define CALM 2         /* rounds */
#define CREDIT_NS (30 * SECOND_NS) /* of so much time before a burst, what its budget has not spent is left for it */
#define REFUSALS 5                 /* bursts that are refused in a row until the watch ends */
#define SIGN_NS (20 * SECOND_NS)   /* how long the broker says nothing to a client */
#define LATE_MS 10                 /* time between two looks for the lists of a burst that is late */
#define LATE 4 /* a burst whose lists have not come after this many times its length, and a second, is given up */

/* The needs that the client may have now: bursts may use its whole budget. */
static struct hm_damon_needs needs_of(const struct hm_damon_broker *broker, const struct hm_damon_lease *lease)
{
    struct hm_damon_needs needs = lease->needs;
    needs.budget = hm_damon_thread_budget(broker, lease, lease->wanted_budget);
    return needs;
}

/* CPU time that the bursts have used so far: the kdamond's, and the broker's. */
static uint64_t used_ns(const struct hm_damon_lease *lease)
{
    return hm_damon_lease_cpu_ns(lease) + lease->broker_cpu_ns;
}

/* How long the client's process has run, in s. */
static double age_s(const struct hm_damon_lease *lease)
{
    return (double)lease->peer.age_s + (double)(hm_clock_ns(CLOCK_MONOTONIC) - lease->since_ns) / SECOND_NS;
}

/*
 * Puts the next burst off, by `share` of the time in which the budget pays for what was spent since the last call. In
 * the first two minutes of the client's process there is an advance on the `usual` budget (base/advance.h). Returns the
 * CPU time in ns.
 */
static uint64_t settle(const struct hm_damon_broker *broker, struct hm_damon_lease *lease, uint32_t usual, double share)
{
    double rate = hm_advance_rate(age_s(lease), lease->bursts.owed_s);
    uint32_t budget = hm_damon_thread_budget(broker, lease, (uint32_t)(lease->wanted_budget * rate));
    uint64_t spent_ns = used_ns(lease) - lease->bursts.settled_ns;
    lease->bursts.settled_ns += spent_ns;
    lease->bursts.owed_s += (double)spent_ns / SECOND_NS * (1 - (double)usual / budget);
    lease->bursts.owed_s = lease->bursts.owed_s > 0 ? lease->bursts.owed_s : 0;
    lease->bursts.paid_ns += (uint64_t)(share * (double)spent_ns / (budget * 1e-6));
    lease->bursts.next_ns = hm_most(lease->bursts.next_ns, lease->bursts.paid_ns);
    return spent_ns;
}

/* Forgets what the budget of longer ago has not spent: a client has no more bursts in a row than others bear. */
static void limit_credit(struct hm_damon_lease *lease, uint64_t now)
{
    lease->bursts.paid_ns = hm_most(lease->bursts.paid_ns, hm_less(now, CREDIT_NS));
}

/* Puts the next burst off, as this one has kept the broker from others for so long. */
static void pay_for_block(const struct hm_damon_broker *broker, struct hm_damon_lease *lease, uint64_t blocked_ns)
{
    lease->bursts.next_ns = hm_most(lease->bursts.next_ns, hm_damon_thread_rest(broker, lease, blocked_ns));
}

/* Measures how much of the time each process ran since the last call. A process whose threads had to wait for CPUs, or
 * slept, cannot be told from one that uses its pages seldom, if the time between two looks is short. */
static void look_at_shares(struct hm_damon_lease *lease, uint64_t now)
{
    double passed_s = (double)(now - lease->bursts.looked_ns) / SECOND_NS;
    for (uint32_t p = 0; p < lease->n; p++) {
        double before_s = lease->bursts.process_s[p], share = 0;
        unsigned n_threads = hm_damon_target_cpu(lease->target[p].pid, &lease->bursts.process_s[p]);
        if (n_threads > 0 && passed_s > 0 && before_s > 0)
            share = (lease->bursts.process_s[p] - before_s) / passed_s / n_threads;
        hm_damon_probing_set_share(&lease->bursts.probing, p, share);
    }
    lease->bursts.looked_ns = now;
}

void hm_damon_burst_prepare(struct hm_damon_broker *broker, struct hm_damon_lease *lease)
{
    uint64_t now = hm_clock_ns(CLOCK_MONOTONIC);
    lease->bursts.calm = lease->bursts.n_refused = 0;
    lease->bursts.said_ns = now; /* an answer, or lists of looks all the time */
    memset(lease->bursts.process_s, 0, sizeof(lease->bursts.process_s));
    const struct hm_damon_needs needs = needs_of(broker, lease);
    /* A client that asks often gets no more bursts than others: one that was cut off is paid for, from its beginning
     * on, as are looks that never stopped. */
    lease->bursts.owed_s += hm_damon_debts_take(&broker->debts, &lease->peer);
    settle(broker, lease, needs.budget, 1);
    limit_credit(lease, now);
    hm_damon_probing_begin(&lease->bursts.probing, lease->target, lease->n, &needs, now);
    look_at_shares(lease, now);
}

/* Leaves out the processes that have ended. Returns the number of those that are left. */
static uint32_t leave_out_dead(struct hm_damon_lease *lease)
{
    uint32_t n = 0;
    for (uint32_t p = 0; p < lease->n; p++) {
        if (lease->bursts.probing.process[p].n_probes > 0 && !hm_damon_targets_live(&lease->pidfd[p], 1))
            hm_damon_probing_leave_out(&lease->bursts.probing, p);
        n += lease->bursts.probing.process[p].n_probes > 0;
    }
    return n;
}

/* Do all processes of the burst live? While they do, their numbers cannot belong to others. */
static bool all_live(const struct hm_damon_lease *lease)
{
    for (uint32_t p = 0; p < lease->n; p++)
        if (lease->bursts.probing.process[p].n_probes > 0 && !hm_damon_targets_live(&lease->pidfd[p], 1))
            return false;
    return true;
}

/* Lets the kdamond look at the burst's pages, or the broker itself. Returns 0, or -1 with a text. */
static int turn_on(struct hm_damon_broker *broker, struct hm_damon_lease *lease, struct hm_error *error)
{
    if (lease->by_bitmap)
        return hm_damon_idle_begin(broker, lease, error);
    unsigned k = (unsigned)lease->kdamond;
    pid_t thread = hm_damon_thread_check(broker, lease, error);
    if (thread == 0)
        thread = hm_damon_slots_start(&broker->slots[k], k, &broker->owned, &lease->bursts.pages, lease->target, error);
    lease->thread = thread > 0 ? thread : 0;
    return thread < 0 ? -1 : 0;
}

/* Can the kdamond that looks be heard? Returns 0, or -1 with a text. */
static int listen_to(const struct hm_damon_broker *broker, struct hm_damon_lease *lease, struct hm_error *error)
{
    return lease->by_bitmap ? 0 : hm_damon_tracepoint_open(&lease->tracepoint, &broker->layout, lease->thread, error);
}

static bool is_on(const struct hm_damon_lease *lease)
{
    return lease->thread > 0 || lease->idle.is_on;
}

/* Begins a burst. If a process ends meanwhile, none begins, and the next one is without it. Returns whether one began,
 * or -1 with a text. If none began, the kdamond may be on. */
static int begin(struct hm_damon_broker *broker, struct hm_damon_lease *lease, struct hm_error *error)
{
    uint64_t begun_ns = hm_clock_ns(CLOCK_MONOTONIC);
    limit_credit(lease, begun_ns);
    lease->bursts.n_targets = leave_out_dead(lease);
    if (lease->bursts.n_targets == 0) {
        lease->bursts.next_ns = begun_ns + SECOND_NS;
        return 0;
    }
    hm_damon_probing_choose(&lease->bursts.probing, &lease->bursts.pages);
    memset(lease->bursts.found, 0, sizeof(lease->bursts.found));
    memset(lease->bursts.has_come, 0, sizeof(lease->bursts.has_come));
    lease->bursts.n_lists = 0;
    int result = turn_on(broker, lease, error);
    if (!all_live(lease))
        return 0;
    if (result != 0 || listen_to(broker, lease, error) != 0)
        return -1;
    lease->bursts.on_ns = hm_clock_ns(CLOCK_MONOTONIC);
    lease->bursts.blocked_ns = lease->bursts.on_ns - begun_ns;
    return 1;
}

/*
 * The level of a block that is used seldom. Its time between two looks is no shorter than that with which looks all the
 * time were blind: they would be so again.
 */
static unsigned calm_level(const struct hm_damon_lease *lease)
{
    uint64_t wanted_us = hm_most(CALM_US, lease->steady.settings.look_us);
    unsigned level = 0;
    while (level + 1 < HM_DAMON_LEVELS && hm_damon_level_us(level) < wanted_us)
        level++;
    return level;
}

/* Tells the client at once that a round has ended: its phase may have waited for that. */
static void tell_round(struct hm_damon_lease *lease, uint64_t now)
{
    const struct hm_damon_looked looked = {.way = HM_DAMON_BURSTS};
    for (uint32_t p = 0; p < lease->n; p++)
        if (lease->bursts.probing.process[p].n_probes > 0 && hm_damon_lease_owns(lease, p)) {
            hm_damon_lease_send(lease, p, &looked, NULL, 0);
            lease->bursts.said_ns = now;
            return;
        }
}

/* Ends the burst, and sets when the next one may begin. While the kdamond cannot be turned off, the burst goes on. */
static void end(const struct hm_damon_broker *broker, struct hm_damon_lease *lease, uint64_t now)
{
    const struct hm_damon_needs needs = needs_of(broker, lease);
    int result = hm_damon_thread_end(broker, lease);
    lease->bursts.blocked_ns += hm_clock_ns(CLOCK_MONOTONIC) - now;
    if (result != 0)
        return;
    if (hm_damon_burst_tell(lease))
        lease->bursts.said_ns = now;
    /* The wait is of random length: bursts in step with the program would see the same part of its work each time. */
    double share = 0.5 + hm_random_share(&lease->bursts.probing.random);
    uint64_t spent_ns = settle(broker, lease, needs.budget, share);
    pay_for_block(broker, lease, lease->bursts.blocked_ns);
    uint32_t rounds = lease->bursts.probing.rounds;
    hm_damon_probing_end(&lease->bursts.probing, &lease->bursts.pages, (double)spent_ns / SECOND_NS, &needs, now);
    if (lease->bursts.probing.rounds == rounds)
        return;
    lease->rounds++;
    tell_round(lease, now);
    bool is_calm = hm_damon_probing_share_of(&lease->bursts.probing, calm_level(lease)) >= CALM_SHARE;
    lease->bursts.calm = is_calm ? lease->bursts.calm + 1 : 0;
    look_at_shares(lease, now);
}

static uint64_t length_ns(const struct hm_damon_lease *lease)
{
    return (uint64_t)lease->bursts.pages.look_us * HM_DAMON_VISIT_LOOKS * 1000;
}

/* Begins a burst. Where the kernel refuses it, for lack of memory or as others use DAMON's files, the next one may
 * begin, unless several were refused in a row. */
static int try_one(struct hm_damon_broker *broker, struct hm_damon_lease *lease, struct hm_error *error)
{
    uint64_t begun_ns = hm_clock_ns(CLOCK_MONOTONIC);
    int began = begin(broker, lease, error);
    lease->bursts.n_refused = began < 0 ? lease->bursts.n_refused + 1 : 0;
    if (began > 0)
        return 0;
    bool is_gone = !lease->by_bitmap && broker->owned.n == 0; /* another try would find the same */
    if (lease->bursts.n_refused >= REFUSALS || (began < 0 && is_gone))
        return -1;
    int result = hm_damon_thread_end(broker, lease);
    if (began < 0) {
        if (result == 0)
            hm_damon_thread_forget(broker, lease);
        lease->bursts.next_ns = hm_clock_ns(CLOCK_MONOTONIC) + SECOND_NS;
    }
    lease->bursts.n_targets = 0; /* where the kdamond is still on, no list is waited for */
    lease->bursts.blocked_ns = hm_clock_ns(CLOCK_MONOTONIC) - begun_ns;
    pay_for_block(broker, lease, lease->bursts.blocked_ns);
    return 0;
}

/* A client that hears nothing for a minute takes the broker for dead. */
static void give_sign(struct hm_damon_lease *lease, uint64_t now)
{
    if (now - lease->bursts.said_ns < SIGN_NS)
        return;
    lease->bursts.said_ns = now;
    hm_damon_lease_answer(lease, 0, "");
}

int hm_damon_burst_work(struct hm_damon_broker *broker, struct hm_damon_lease *lease, struct hm_error *error)
{
    uint64_t now = hm_clock_ns(CLOCK_MONOTONIC);
    give_sign(lease, now);
    if (!is_on(lease))
        return now < lease->bursts.next_ns ? 0 : try_one(broker, lease, error);
    if (lease->by_bitmap)
        hm_damon_idle_work(broker, lease);
    else
        hm_damon_tracepoint_read(&lease->tracepoint, &broker->layout, hm_damon_burst_note, lease);
    now = hm_clock_ns(CLOCK_MONOTONIC); /* the looks have counted how long they took */
    if (lease->bursts.n_lists >= lease->bursts.n_targets ||
        now > lease->bursts.on_ns + LATE * length_ns(lease) + SECOND_NS)
        end(broker, lease, now);
    return 0;
}

bool hm_damon_burst_is_calm(const struct hm_damon_lease *lease)
{
    return lease->thread == 0 && lease->bursts.calm >= CALM;
}

int hm_damon_burst_wait_ms(const struct hm_damon_lease *lease)
{
    uint64_t now = hm_clock_ns(CLOCK_MONOTONIC);
    uint64_t ends_ns = lease->by_bitmap ? lease->idle.due_ns : lease->bursts.on_ns + length_ns(lease);
    uint64_t due = is_on(lease) ? hm_most(ends_ns, lease->off_ns) : lease->bursts.next_ns;
    if (lease->thread > 0 && due <= now)
        return LATE_MS;
    return (int)(hm_less(hm_least(due, lease->bursts.said_ns + SIGN_NS), now) / MS_NS) + 1;
}
