/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans moves between the tiers: which extents are promoted, and which are demoted, to make room or to leave accesses
 * to the slow tier (extentsparts.h). The exchanges themselves are in exchange.h.
 */
#include <math.h>

#include "base/amount.h"
#include "exchange.h"
#include "misses.h"

/* Share of a phase's samples: a plan with a smaller gain is only noise, however many samples there are. */
#define LEAST_GAIN 0.002

/*
 * Near which share of the pages of each extent should be in the fast tier. Where it has room for its share of all
 * pages, that is this share: then it serves its share in each phase, whichever extents this uses. Else there is no such
 * share, and the hottest go there.
 */
static double even_share(const struct hm_extents *extents, const struct hm_budget *budget)
{
    double present = 0, share = hm_extents_heat_share(budget->share);
    for (size_t i = 0; i < extents->base.n_extents; i++)
        present += (double)extents->base.extent[i].tier_pages[0] + (double)extents->base.extent[i].tier_pages[1];
    return (double)budget->capacity_pages[0] >= share * present ? share : 1;
}

/* Begins a plan without moves; the extents are in order. */
static struct hm_exchange begin_plan(struct hm_extents *extents, const struct hm_budget *budget)
{
    struct hm_exchange plan;
    hm_exchange_begin(&plan, extents, budget);
    plan.belief = HM_PLACEMENT_PHASES;
    if (budget->share) {
        plan.heat_room = hm_extents_heat_room(extents, budget->share);
        plan.even = even_share(extents, budget);
        plan.belief *= budget->share->gain;
        for (unsigned from = 0; from < extents->base.options.n_tiers; from++)
            for (unsigned to = 0; to < extents->base.options.n_tiers; to++)
                plan.move_cost[from][to] = budget->share->price;
    }
    return plan;
}

static void choose(struct hm_exchange *plan)
{
    if (plan->heat_room < 0)
        hm_exchange_shed(plan);
    else
        hm_exchange_promote(plan);
}

/*
 * How many pages of an extent are lifted for a gain, and not for the cap: those that are promoted less those that are
 * demoted, each by the part of the way from the last tier to the first. What the fast tier sheds counts as a gain.
 */
static double lifted(const struct hm_extents *extents, size_t i)
{
    const struct hm_extent *extent = &extents->base.extent[i];
    double sum = 0;
    for (unsigned k = 0; k < extents->n_pairs; k++) {
        unsigned up = extents->pair[k].up, down = extents->pair[k].down;
        double raised = (double)*hm_extents_flow(extents, extents->flow, i, down, up) -
                        (double)*hm_extents_flow(extents, extents->kept, i, down, up);
        double lowered = (double)*hm_extents_flow(extents, extents->flow, i, up, down) -
                         (double)*hm_extents_flow(extents, extents->kept, i, up, down);
        if (raised == 0 && lowered == 0)
            continue;
        sum += (extent->verdict == HM_VERDICT_SHED ? lowered : raised - lowered) *
               hm_extents_step(extents, extent, up, down);
    }
    return sum;
}

/* Is the gain of all promotions and their demotions next to nothing? */
static bool is_noise(const struct hm_extents *extents, double gain)
{
    return gain < LEAST_GAIN * extents->trust.samples;
}

static double gain_of_all(const struct hm_extents *extents)
{
    double gain = 0;
    for (size_t i = 0; i < extents->base.n_extents; i++) {
        double pages = lifted(extents, i);
        if (pages != 0)
            gain += hm_extents_heat(extents, &extents->base.extent[i]) * pages;
    }
    return gain;
}

/* Cancels all moves except those for the caps. */
static void drop_moves(struct hm_extents *extents)
{
    size_t n_flows = hm_extents_flows(extents);
    for (size_t i = 0; i < extents->base.n_extents; i++) {
        bool drops = false, keeps = false;
        for (size_t k = i * n_flows; k < (i + 1) * n_flows; k++) {
            drops = drops || extents->flow[k] != extents->kept[k];
            keeps = keeps || extents->kept[k] > 0;
            extents->flow[k] = extents->kept[k];
        }
        if (drops)
            extents->base.extent[i].verdict = keeps ? HM_VERDICT_CAP : HM_VERDICT_DOUBT;
    }
}

/* Adds the moves from one tier to another to the decider's moves. */
static void give_out(struct hm_extents *extents, unsigned from, unsigned to)
{
    for (size_t i = 0; i < extents->base.n_extents; i++)
        hm_decider_add_move(&extents->base, &extents->base.extent[i],
                            *hm_extents_flow(extents, extents->flow, i, from, to), from, to);
}

/* Does the plan move any page of the extent? */
static bool moves(const struct hm_extents *extents, size_t i)
{
    size_t n_flows = hm_extents_flows(extents);
    const uint64_t *flow = &extents->flow[i * n_flows];
    while (n_flows > 0 && flow[n_flows - 1] == 0)
        n_flows--;
    return n_flows > 0;
}

/* The pages of an extent are alike: those that go to a tier where as many leave go where these would have gone. */
static void shorten(struct hm_extents *extents, size_t i, unsigned between)
{
    unsigned n_tiers = extents->base.options.n_tiers;
    for (unsigned from = 0; from < n_tiers; from++)
        for (unsigned to = 0; to < n_tiers; to++) {
            if (from == between || to == between)
                continue;
            uint64_t *in = hm_extents_flow(extents, extents->flow, i, from, between);
            uint64_t *out = hm_extents_flow(extents, extents->flow, i, between, to), pages = hm_least(*in, *out);
            *in -= pages;
            *out -= pages;
            if (from != to)
                *hm_extents_flow(extents, extents->flow, i, from, to) += pages;
        }
}

/* Demotions first, those from slow tiers before those from faster ones, as they make room for them; then promotions,
 * into the fastest tier first. */
static void give_out_all(struct hm_extents *extents)
{
    for (size_t i = 0; i < extents->base.n_extents; i++)
        for (unsigned between = 0; between < extents->base.options.n_tiers && moves(extents, i); between++)
            shorten(extents, i, between);
    for (unsigned k = extents->n_pairs; k-- > 0;)
        give_out(extents, extents->pair[k].up, extents->pair[k].down);
    for (unsigned k = 0; k < extents->n_pairs; k++)
        give_out(extents, extents->pair[k].down, extents->pair[k].up);
}

/* The pages of an extent that are in any tier. */
static double present_in(const struct hm_extents *extents, size_t i)
{
    double present = 0;
    for (unsigned tier = 0; tier < extents->base.options.n_tiers; tier++)
        present += (double)extents->base.extent[i].tier_pages[tier];
    return present;
}

/* Plans the moves as if every gain were certain, and notes them: the next phase shows which gains come true. */
static void try_out(struct hm_extents *extents, const struct hm_budget *budget)
{
    struct hm_exchange plan = begin_plan(extents, budget);
    choose(&plan);
    hm_trust_begin(&extents->trust);
    for (size_t i = 0; i < extents->base.n_extents; i++) {
        const struct hm_extent *extent = &extents->base.extent[i];
        double pages = lifted(extents, i);
        if (pages == 0)
            continue;
        struct hm_promise promise = {extent->first, extent->n_pages, pages / present_in(extents, i)};
        hm_trust_promise(&extents->trust, &promise, hm_extents_heat(extents, extent) * fabs(pages));
    }
    if (is_noise(extents, extents->trust.gain))
        hm_trust_begin(&extents->trust);
}

/* Which pages of each extent earlier moves have lifted. */
static void recall_lifted(struct hm_extents *extents)
{
    for (size_t i = 0; i < extents->base.n_extents; i++) {
        const struct hm_extent *extent = &extents->base.extent[i];
        extents->lifted[i] =
            hm_account_lifted(&extents->account, extent->first, extent->n_pages) * present_in(extents, i);
    }
}

/* Adds what moves have gained in the phase to the account. */
static void keep_account(struct hm_extents *extents)
{
    hm_account_begin(&extents->account);
    for (size_t i = 0; i < extents->base.n_extents; i++) {
        const struct hm_extent *extent = &extents->base.extent[i];
        double present = present_in(extents, i);
        if (present <= 0)
            continue;
        double in_last = (double)extent->tier_pages[extents->base.options.n_tiers - 1] / present;
        double in_first = (double)extent->tier_pages[0] / present;
        hm_account_check(&extents->account, extent->first, extent->n_pages, 1 - in_first, 1 - in_last);
    }
    hm_account_add(&extents->account);
}

/* The cost of the planned moves of an extent, in accesses; without those for the caps. */
static double cost_of(const struct hm_extents *extents, size_t i)
{
    unsigned n_tiers = extents->base.options.n_tiers;
    double cost = 0;
    for (unsigned from = 0; from < n_tiers; from++)
        for (unsigned to = 0; to < n_tiers; to++) {
            if (from == to)
                continue;
            double pages = (double)*hm_extents_flow(extents, extents->flow, i, from, to) -
                           (double)*hm_extents_flow(extents, extents->kept, i, from, to);
            cost += extents->base.options.move_cost[from][to] * fmax(pages, 0);
        }
    return cost;
}

/* Notes what the plan lifts, for the account. Where the fast tier is to have a certain share of the heat, pages are
 * moved for that, and not for what they gain: nothing is noted. */
static void note_moves(struct hm_extents *extents, const struct hm_budget *budget)
{
    const struct hm_decider_options *options = &extents->base.options;
    double cost = 0, misses = options->counts_memory ? 1 : hm_misses_per_access(0, 1);
    hm_account_begin(&extents->account);
    for (size_t i = 0; i < extents->base.n_extents && !budget->share; i++) {
        const struct hm_extent *extent = &extents->base.extent[i];
        double present = present_in(extents, i);
        if (present <= 0)
            continue;
        hm_account_lift(&extents->account, extent->first, extent->n_pages, lifted(extents, i) / present);
        cost += cost_of(extents, i);
    }
    hm_account_end(&extents->account, cost / (options->period * misses));
}

void hm_extents_plan(struct hm_decider *decider, const struct hm_budget *budget)
{
    struct hm_extents *extents = (struct hm_extents *)decider;
    if (!extents->is_tried) {
        hm_extents_order(extents);
        if (budget->share)
            hm_extents_learn_share(extents, budget->share);
        try_out(extents, budget);
        keep_account(extents);
        extents->is_tried = true;
    }
    struct hm_exchange plan = begin_plan(extents, budget);
    plan.moves_left = budget->move_pages;
    if (budget->phases_left >= 0 && budget->phases_left < HM_PLACEMENT_PHASES)
        plan.belief *= budget->phases_left / HM_PLACEMENT_PHASES;
    plan.belief *= hm_trust_factor(&extents->trust);
    bool is_lost = !budget->share && hm_account_is_lost(&extents->account);
    if (is_lost)
        recall_lifted(extents);
    hm_exchange_obey_caps(&plan, budget);
    plan.only_back = is_lost;
    choose(&plan);
    if (is_noise(extents, gain_of_all(extents)))
        drop_moves(extents);
    note_moves(extents, budget);
    give_out_all(extents);
}
