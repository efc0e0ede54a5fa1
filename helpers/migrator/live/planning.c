/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the moves at the end of a phase, and decides whether they are worth an advance (purse.h). */
#include "base/amount.h"
#include "optiontiers.h"
#include "phaseparts.h"
#include "reckon.h"

uint64_t hm_live_above_room(const struct hm_live_end *end, unsigned tier, const struct hm_move *moves, size_t count)
{
    uint64_t in = 0, out = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t pages = hm_least(moves[i].limit, moves[i].n_pages);
        in += moves[i].to == tier ? pages : 0;
        out += moves[i].from == tier ? pages : 0;
    }
    return hm_less(hm_less(end->used_pages[tier] + in, out), end->capacity_pages[tier]);
}

/* How many pages move by this plan: its own moves, and those of memory in no extent that make room for them. */
static void count_pages(const struct hm_live *live, const struct hm_live_end *end, struct hm_live_planned *planned)
{
    for (size_t i = 0; i < planned->n; i++) {
        uint64_t pages = hm_least(planned->move[i].limit, planned->move[i].n_pages);
        planned->pages += pages;
        planned->promoted += hm_move_is_up(&planned->move[i]) ? pages : 0;
    }
    for (unsigned tier = 0; tier + 1 < live->nodes.n_tiers && !hm_live_is_blind(live, end); tier++)
        planned->pages += hm_least(hm_live_above_room(end, tier, planned->move, planned->n), end->gap_pages[tier]);
}

/* For how many CPU seconds of waiting these moves make up, if the job does nothing but wait for memory. */
static double gain_s(const struct hm_live *live, const struct hm_live_end *end, const struct hm_live_planned *planned,
                     double phase_s)
{
    const struct hm_purse *purse = &live->account.purse;
    struct hm_reckon_tiers tiers = {.n = live->options->n_middle + 2};
    hm_options_latencies(live->options, tiers.read, tiers.write);
    return hm_reckon_gain(end->extent, end->n_extents, planned->move, planned->n, &tiers) *
           hm_decider_belief(live->decider) * hm_reckon_use_s(purse->left_s, purse->ran_s, phase_s * purse->used) *
           purse->n_cpus;
}

/* Plans for at most `pages`. */
static struct hm_live_planned plan(struct hm_live *live, struct hm_live_end *end, struct hm_budget *budget,
                                   uint64_t pages, double phase_s)
{
    struct hm_live_planned planned = {.gain_s = -1};
    budget->move_pages = pages;
    planned.move = hm_decider_plan(live->decider, budget, &planned.n);
    end->extent = hm_decider_extents(live->decider, &end->n_extents);
    count_pages(live, end, &planned);
    if (!budget->share)
        planned.gain_s = gain_s(live, end, &planned, phase_s);
    return planned;
}

/* Does what a plan moves more than the one that is paid for pay for its CPU time? */
static bool pays(const struct hm_purse *purse, const struct hm_live_planned *more, const struct hm_live_planned *paid)
{
    double cost_s = hm_purse_cost(purse, hm_less(more->pages, paid->pages));
    return (more->gain_s - paid->gain_s) * HM_RECKON_WAITS >= cost_s;
}

static struct hm_live_planned choose(struct hm_live *live, struct hm_live_end *end, struct hm_budget *budget,
                                     double phase_s)
{
    const struct hm_purse *purse = &live->account.purse;
    uint64_t ahead = hm_least(budget->move_pages, hm_purse_pages(purse, true));
    uint64_t saved = hm_least(ahead, hm_purse_pages(purse, false));
    struct hm_live_planned more = plan(live, end, budget, ahead, phase_s);
    if (budget->share || ahead == saved)
        return more;
    if (more.pages <= saved) {
        budget->move_pages = saved;
        return more;
    }
    struct hm_live_planned paid = plan(live, end, budget, saved, phase_s);
    /* The decider has room for one plan: this one is made again. */
    return pays(purse, &more, &paid) ? plan(live, end, budget, ahead, phase_s) : paid;
}

struct hm_live_planned hm_live_plan(struct hm_live *live, struct hm_live_end *end, struct hm_budget *budget,
                                    double phase_s)
{
    struct hm_live_planned planned = choose(live, end, budget, phase_s);
    planned.paid_pages = hm_most(budget->move_pages, hm_purse_pages(&live->account.purse, false));
    return planned;
}
