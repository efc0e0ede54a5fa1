/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans moves between the tiers: which extents are promoted, and which are demoted, to make room or to leave accesses
 * to the slow tier (extentsparts.h).
 */
#include <math.h>

#include "base/amount.h"
#include "extentsparts.h"

/* How many phases a placement is expected to last. A move that does not pay off by then is not worth the risk. */
#define LASTS 8.0
/* Share of a phase's samples: a plan with a smaller gain is only noise, however many samples there are. */
#define LEAST_GAIN 0.002

/* The state while a plan is made: hot extents are taken from the top of the order, cold ones from the bottom. */
struct plan {
    struct hm_extents *extents;
    size_t cold;         /* place in the order of the coldest extent that has fast pages left */
    uint64_t cold_left;  /* its fast pages that are left */
    uint64_t room;       /* free pages in the fast tier */
    uint64_t moves_left; /* pages that the budget still allows */
    size_t cap;          /* the extent (its index) that was demoted last for the cap */
    uint64_t cap_pages;  /* its pages that were demoted for the cap; an exchange may demote more of it */
    double belief;       /* number of phases for which a gain is expected to last, times the trust in it */
    double promote_cost; /* of a page, as in the options */
    double demote_cost;
    double heat_room; /* heat (priority times pages) that the fast tier should have more; negative: less */
};

static struct hm_extent *extent_at(const struct plan *plan, size_t place)
{
    return &plan->extents->base.extent[plan->extents->order[place]];
}

/* Begins a plan without moves; the extents are in order. */
static struct plan begin_plan(struct hm_extents *extents, const struct hm_budget *budget)
{
    struct plan plan = {.extents = extents,
                        .moves_left = UINT64_MAX,
                        .belief = LASTS,
                        .promote_cost = extents->base.options.promote_cost,
                        .demote_cost = extents->base.options.demote_cost,
                        .heat_room = INFINITY};
    for (size_t i = 0; i < extents->base.n_extents; i++) {
        extents->amount[i] = 0;
        extents->base.extent[i].verdict = extents->n_phases > 1 ? HM_VERDICT_PLACED : HM_VERDICT_NEW;
    }
    plan.cold_left = extents->base.n_extents > 0 ? extent_at(&plan, 0)->fast_pages : 0;
    if (budget->used_pages < budget->capacity_pages)
        plan.room = budget->capacity_pages - budget->used_pages;
    if (budget->share) {
        plan.heat_room = hm_extents_heat_room(extents, budget->share);
        plan.belief *= budget->share->gain;
        plan.promote_cost = plan.demote_cost = budget->share->price;
    }
    return plan;
}

/* Moves on to an extent below place `end` that has fast pages left. Returns false if there is none. */
static bool find_cold(struct plan *plan, size_t end)
{
    while (plan->cold < end && plan->cold_left == 0)
        if (++plan->cold < end)
            plan->cold_left = extent_at(plan, plan->cold)->fast_pages;
    return plan->cold < end;
}

static void move(struct plan *plan, size_t place, uint64_t pages, enum hm_verdict verdict)
{
    plan->extents->amount[plan->extents->order[place]] += pages;
    extent_at(plan, place)->verdict = verdict;
    plan->moves_left -= pages;
}

/* How many of `most` pages have this heat together, where each has `each`. */
static uint64_t pages_of_heat(double heat, double each, uint64_t most)
{
    return heat < each * (double)most ? (uint64_t)(heat / each) : most;
}

static void demote(struct plan *plan, uint64_t pages, enum hm_verdict verdict)
{
    move(plan, plan->cold, pages, verdict);
    plan->cold_left -= pages;
}

/* Demotes the coldest pages, as many as are above the cap and moves_left allows. This comes before any promotion. */
static void obey_cap(struct plan *plan, uint64_t over)
{
    while (over > 0 && plan->moves_left > 0 && find_cold(plan, plan->extents->base.n_extents)) {
        uint64_t pages = hm_least(hm_least(over, plan->cold_left), plan->moves_left);
        plan->cap = plan->extents->order[plan->cold];
        plan->cap_pages = pages;
        demote(plan, pages, HM_VERDICT_CAP);
        over -= pages;
    }
}

/*
 * Demotes hot pages, so that the slow tier serves more: the hottest extents first, as few of their pages take much
 * heat. Below the extent that does not pay, none does.
 */
static void shed(struct plan *plan)
{
    const struct hm_extents *extents = plan->extents;
    for (size_t place = extents->base.n_extents; place-- > 0 && plan->heat_room < 0 && plan->moves_left > 0;) {
        const struct hm_extent *extent = extent_at(plan, place);
        uint64_t left = hm_least(extent->fast_pages - extents->amount[extents->order[place]], plan->moves_left);
        if (extent->priority * plan->belief <= plan->demote_cost)
            return;
        uint64_t pages = pages_of_heat(-plan->heat_room, extent->priority, left);
        if (pages == 0)
            continue;
        move(plan, place, pages, HM_VERDICT_SHED);
        plan->heat_room += extent->priority * (double)pages;
    }
}

/* Promotes the slow pages of an extent, as long as that pays. Returns what stopped it; HM_VERDICT_PROMOTE: nothing. */
static enum hm_verdict promote(struct plan *plan, size_t hot)
{
    const struct hm_decider_options *options = &plan->extents->base.options;
    struct hm_extent *extent = extent_at(plan, hot);
    uint64_t left = extent->slow_pages;
    if (plan->room > 0 && plan->moves_left > 0) {
        if (extent->priority * plan->belief <= plan->promote_cost)
            return HM_VERDICT_COST;
        uint64_t pages =
            pages_of_heat(plan->heat_room, extent->priority, hm_least(hm_least(left, plan->room), plan->moves_left));
        if (pages == 0)
            return HM_VERDICT_SHARE;
        move(plan, hot, pages, HM_VERDICT_PROMOTE);
        plan->heat_room -= extent->priority * (double)pages;
        plan->room -= pages;
        left -= pages;
    }
    while (left > 0) {
        if (plan->moves_left < 2)
            return HM_VERDICT_BUDGET;
        if (!find_cold(plan, hot))
            return HM_VERDICT_ROOM;
        double more = extent->priority - extent_at(plan, plan->cold)->priority;
        double gain = extent->priority * (1 - options->error) - extent_at(plan, plan->cold)->priority;
        if (gain * plan->belief <= plan->promote_cost + plan->demote_cost)
            return extent->priority * plan->belief <= plan->promote_cost ? HM_VERDICT_COST : HM_VERDICT_ROOM;
        uint64_t pages =
            pages_of_heat(plan->heat_room, more, hm_least(hm_least(left, plan->cold_left), plan->moves_left / 2));
        if (pages == 0)
            return HM_VERDICT_SHARE;
        plan->heat_room -= more * (double)pages;
        demote(plan, pages, HM_VERDICT_DEMOTE);
        move(plan, hot, pages, HM_VERDICT_PROMOTE);
        left -= pages;
    }
    return HM_VERDICT_PROMOTE;
}

/* Promotes the hottest extents first. If one does not pay, colder ones do not either. */
static void promote_all(struct plan *plan)
{
    enum hm_verdict stopped = HM_VERDICT_PROMOTE;
    for (size_t hot = plan->extents->base.n_extents; hot-- > plan->cold;) {
        struct hm_extent *extent = extent_at(plan, hot);
        if (extent->slow_pages == 0 || plan->extents->amount[plan->extents->order[hot]] > 0)
            continue;
        if (stopped == HM_VERDICT_PROMOTE)
            stopped = promote(plan, hot);
        if (stopped != HM_VERDICT_PROMOTE && extent->verdict != HM_VERDICT_PROMOTE)
            extent->verdict = stopped;
    }
}

static void choose(struct plan *plan)
{
    if (plan->heat_room < 0)
        shed(plan);
    else
        promote_all(plan);
}

/* How many of an extent's pages move for a gain, and not for the cap. */
static uint64_t moved_for_gain(const struct plan *plan, size_t i)
{
    if (plan->extents->base.extent[i].verdict == HM_VERDICT_CAP)
        return 0;
    return plan->extents->amount[i] - (i == plan->cap ? plan->cap_pages : 0);
}

/* Is the gain of all promotions and their demotions next to nothing? */
static bool is_noise(const struct plan *plan)
{
    const struct hm_extents *extents = plan->extents;
    double gain = 0;
    for (size_t i = 0; i < extents->base.n_extents; i++) {
        const struct hm_extent *extent = &extents->base.extent[i];
        double heat = hm_extents_heat(extents, extent) * (double)moved_for_gain(plan, i);
        if (extent->verdict == HM_VERDICT_PROMOTE || extent->verdict == HM_VERDICT_SHED)
            gain += heat;
        else if (extent->verdict == HM_VERDICT_DEMOTE)
            gain -= heat;
    }
    return gain < LEAST_GAIN * extents->trust.samples;
}

/* Cancels all moves except those for the cap. */
static void drop_moves(const struct plan *plan)
{
    struct hm_extents *extents = plan->extents;
    for (size_t i = 0; i < extents->base.n_extents; i++) {
        uint64_t dropped = moved_for_gain(plan, i);
        if (dropped == 0)
            continue;
        extents->amount[i] -= dropped;
        extents->base.extent[i].verdict = extents->amount[i] > 0 ? HM_VERDICT_CAP : HM_VERDICT_DOUBT;
    }
}

/* Adds the promotions (`up`) or the demotions to the decider's moves. */
static void give_out(struct hm_extents *extents, bool up)
{
    for (size_t i = 0; i < extents->base.n_extents; i++) {
        const struct hm_extent *extent = &extents->base.extent[i];
        if ((extent->verdict == HM_VERDICT_PROMOTE) == up)
            hm_decider_add_move(&extents->base, extent, extents->amount[i], up);
    }
}

/* Plans the moves as if every gain were certain, and notes them: the next phase shows which gains come true. */
static void try_out(struct hm_extents *extents, const struct hm_budget *budget)
{
    struct plan plan = begin_plan(extents, budget);
    choose(&plan);
    hm_trust_begin(&extents->trust);
    if (is_noise(&plan))
        return;
    for (size_t i = 0; i < extents->base.n_extents; i++) {
        const struct hm_extent *extent = &extents->base.extent[i];
        if (extents->amount[i] == 0)
            continue;
        double pages = (double)extents->amount[i];
        double part = pages / (double)(extent->fast_pages + extent->slow_pages);
        struct hm_promise promise = {extent->first, extent->n_pages,
                                     extent->verdict == HM_VERDICT_DEMOTE ? -part : part};
        hm_trust_promise(&extents->trust, &promise, hm_extents_heat(extents, extent) * pages);
    }
}

void hm_extents_plan(struct hm_decider *decider, const struct hm_budget *budget)
{
    struct hm_extents *extents = (struct hm_extents *)decider;
    hm_decider_order(&extents->base, extents->order);
    if (budget->share)
        hm_extents_learn_share(extents, budget->share);
    try_out(extents, budget);
    struct plan plan = begin_plan(extents, budget);
    plan.moves_left = budget->move_pages;
    if (budget->phases_left >= 0 && budget->phases_left < LASTS)
        plan.belief *= budget->phases_left / LASTS;
    plan.belief *= hm_trust_factor(&extents->trust);
    if (budget->used_pages > budget->capacity_pages)
        obey_cap(&plan, budget->used_pages - budget->capacity_pages);
    choose(&plan);
    if (is_noise(&plan))
        drop_moves(&plan);
    give_out(extents, false);
    give_out(extents, true);
}
