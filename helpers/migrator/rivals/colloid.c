/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy of Colloid: Vuppalapati, Agarwal, "Tiered Memory Management: Access Latency is the Key!", SOSP 2024, its
 * sections on the placement of pages and on its integration with HeMem. Pages are placed so that the latencies of both
 * tiers, under the load that they have, become equal. In each phase the share p of the accesses that the fast tier
 * serves is compared with two marks: with the lower latency in the fast tier, p becomes the lower mark, else the upper
 * one. The target is half-way between the marks; pages are moved whose shares of the accesses sum up to no more than
 * the distance of p to it, the hottest first. So the target is found as in a binary search. Where the marks meet, the
 * balance has moved on, and one is set back. Next to the balance, within 5 % of the latency, nothing moves. Shares of
 * pages come from HeMem's counters (cooling.h), and as there the latencies are those of reads.
 *
 * The driver tells the latencies of the tiers (struct hm_budget). Without a model of load they are those of idle tiers:
 * the fast one is always the faster, and the policy ends where HeMem aims, with the hottest pages in the fast tier. It
 * goes half of the way in each phase, and ranks pages by their counts, where HeMem has two classes. What is taken
 * instead of what a trace does not have: latencies and shares are means over a phase, so they are not averaged further
 * (in the system the interval is 10 ms), and of the two limits of the rate of moves only the one of the published
 * system that needs no time is kept: the bytes that move are no more than the accesses that shall move, in lines.
 */
#include <math.h>

#include "cooling.h"
#include "exchange.h"

#define LATENCY_DELTA 0.05 /* of the fast tier's latency */
#define SHARE_EPSILON 0.01 /* the marks meet if they are nearer than this */
#define LINE_BYTES 64

struct colloid {
    struct hm_rival rival;
    double low, high;              /* the marks: shares of accesses that the fast tier serves */
    double counts;                 /* the sum over all pages */
    double share_left, moves_left; /* what may still move: in shares of all accesses, and in pages */
};

static struct hm_decider *create(const struct hm_decider_options *options)
{
    struct hm_decider *decider = hm_rival_new(&hm_rival_colloid, options, sizeof(struct colloid));
    if (decider)
        ((struct colloid *)decider)->high = 1;
    return decider;
}

static void end_phase(struct hm_decider *decider)
{
    struct hm_rival *rival = (struct hm_rival *)decider;
    struct colloid *colloid = (struct colloid *)decider;
    hm_rival_begin_end(rival);
    hm_rival_count_and_cool(rival);
    colloid->counts = 0;
    for (size_t i = 0; i < rival->n_pages; i++) {
        rival->page[i].rank = (double)(rival->page[i].counts.reads + rival->page[i].counts.writes);
        colloid->counts += rival->page[i].rank;
    }
    hm_rival_make_extents(rival);
}

/* Moves the marks by the share that the fast tier serves. Returns the distance to the target. */
static double move_marks(struct colloid *colloid, double share, bool is_up)
{
    *(is_up ? &colloid->low : &colloid->high) = share;
    if (colloid->high - colloid->low < SHARE_EPSILON) {
        if (is_up)
            colloid->high = 1;
        else
            colloid->low = 0;
    }
    return fabs((colloid->low + colloid->high) / 2 - share);
}

/* Sets what may move. */
static void balance(struct colloid *colloid, const struct hm_budget *budget)
{
    double fast = 0, all = 0;
    for (size_t i = 0; i < colloid->rival.base.n_extents; i++) {
        const struct hm_extent *extent = &colloid->rival.base.extent[i];
        fast += extent->tier_pages[0] > 0 ? extent->reads + extent->writes : 0;
        all += extent->reads + extent->writes;
    }
    bool is_balanced = fabs(budget->fast_latency - budget->slow_latency) < LATENCY_DELTA * budget->fast_latency;
    colloid->share_left = colloid->moves_left = 0;
    if (is_balanced || all <= 0)
        return;
    colloid->share_left = move_marks(colloid, fast / all, budget->fast_latency < budget->slow_latency);
    double bytes = colloid->share_left * all * colloid->rival.base.options.period * LINE_BYTES;
    colloid->moves_left = bytes / (double)colloid->rival.base.options.page_bytes;
}

/* Takes a page's share of all accesses, or the difference that an exchange makes, from what may move. */
static enum hm_verdict spend(struct colloid *colloid, double count)
{
    double share = colloid->counts > 0 ? count / colloid->counts : 0;
    if (share <= 0)
        return HM_VERDICT_ROOM;
    if (share > colloid->share_left)
        return HM_VERDICT_PLACED;
    if (colloid->moves_left < 1)
        return HM_VERDICT_BUDGET;
    colloid->share_left -= share;
    colloid->moves_left--;
    return HM_VERDICT_PROMOTE;
}

static enum hm_verdict rule(struct hm_rival *rival, const struct hm_rival_page *hot, const struct hm_rival_page *cold)
{
    return spend((struct colloid *)rival, hot->rank - (cold ? cold->rank : 0));
}

/* The fast tier is the slower one: the hottest of its pages leave it. What they leave free is for new pages. */
static void relieve(struct hm_rival *rival, uint64_t left)
{
    for (size_t place = rival->base.n_extents; place-- > 0 && left > 0;) {
        uint32_t i = rival->order[place];
        if (rival->base.extent[i].tier_pages[0] <= rival->amount[i] || rival->page_of[i] == HM_RIVAL_HOLE)
            continue;
        if (spend((struct colloid *)rival, hm_rival_page_of(rival, i)->rank) != HM_VERDICT_PROMOTE)
            continue;
        hm_rival_demote_at(rival, place);
        left--;
    }
}

static void plan(struct hm_decider *decider, const struct hm_budget *budget)
{
    struct hm_rival *rival = (struct hm_rival *)decider;
    balance((struct colloid *)decider, budget);
    uint64_t left = hm_rival_begin_plan(rival, budget);
    if (budget->fast_latency <= budget->slow_latency)
        hm_rival_promote(rival, budget, left, rule);
    else
        relieve(rival, left);
    hm_rival_end_plan(rival);
}

const struct hm_algorithm hm_rival_colloid = {
    .name = "colloid",
    .about = "for comparison: Colloid (SOSP 2024), balances the latencies of the tiers",
    .create = create,
    .destroy = hm_rival_destroy,
    .observe = hm_rival_observe,
    .forget = hm_rival_forget,
    .end_phase = end_phase,
    .plan = plan,
};
