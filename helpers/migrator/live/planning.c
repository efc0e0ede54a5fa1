/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the moves at the end of a phase, and decides whether they are worth an advance (purse.h). */
#include "base/amount.h"
#include "optiontiers.h"
#include "phaseparts.h"
#include "reckon.h"

/* Plans for at most `pages`. */
static const struct hm_move *plan(struct hm_live *live, struct hm_live_end *end, struct hm_budget *budget,
                                  uint64_t pages, size_t *count)
{
    budget->move_pages = pages;
    const struct hm_move *moves = hm_decider_plan(live->decider, budget, count);
    end->extent = hm_decider_extents(live->decider, &end->n_extents);
    return moves;
}

/* For how many CPU seconds of waiting these moves make up, if the job does nothing but wait for memory. */
static double gain_s(const struct hm_live *live, const struct hm_live_end *end, const struct hm_move *moves,
                     size_t count, double phase_s)
{
    const struct hm_purse *purse = &live->account.purse;
    double read[HM_MAX_TIERS], write[HM_MAX_TIERS];
    hm_options_latencies(live->options, read, write);
    return hm_reckon_gain(end->extent, end->n_extents, moves, count, read, live->options->n_middle + 2) *
           hm_reckon_use_s(purse->left_s, purse->ran_s, phase_s) * purse->n_cpus;
}

/* Do these moves pay for their CPU time and the decision's? */
static bool pays(const struct hm_live *live, const struct hm_move *moves, size_t count, double gained_s)
{
    uint64_t pages = 0;
    for (size_t i = 0; i < count; i++)
        pages += hm_least(moves[i].limit, moves[i].n_pages);
    return gained_s * HM_RECKON_WAITS >= hm_purse_cost(&live->account.purse, pages);
}

const struct hm_move *hm_live_plan(struct hm_live *live, struct hm_live_end *end, struct hm_budget *budget,
                                   double phase_s, size_t *count)
{
    const struct hm_purse *purse = &live->account.purse;
    uint64_t most = budget->move_pages, saved = hm_least(most, hm_purse_pages(purse, false));
    const struct hm_heat_share none = {0}, before = budget->share ? *budget->share : none;
    const struct hm_move *moves = plan(live, end, budget, hm_least(most, hm_purse_pages(purse, true)), count);
    double gained_s = gain_s(live, end, moves, *count, phase_s);
    if (budget->move_pages > saved && !pays(live, moves, *count, gained_s)) {
        if (budget->share) /* a plan learns from the phase (decide.h), which counts once */
            *budget->share = before;
        moves = plan(live, end, budget, saved, count);
        gained_s = gain_s(live, end, moves, *count, phase_s);
    }
    live->shown.progress->gain_s += gained_s;
    return moves;
}
