/* SPDX-License-Identifier: Apache-2.0 */
#include "budget.h"

#include <math.h>

void hm_perf_budget_init(struct hm_perf_budget *budget, uint64_t wanted, uint64_t most)
{
    *budget = (struct hm_perf_budget){.wanted = wanted, .most = most, .period = wanted, .patience = HM_PERF_PATIENCE};
}

static bool make_coarser(struct hm_perf_budget *budget, double spent_s, double allowed_s)
{
    uint64_t before = budget->period;
    do {
        if (budget->period / budget->wanted >= HM_PERF_COARSEST || (budget->most && budget->period > budget->most / 2))
            break;
        budget->period *= 2;
        spent_s /= 2;
    } while (spent_s > allowed_s);
    /* Sampling was too fine: wait longer before the next try to make it finer. */
    budget->patience = budget->patience * 2 < HM_PERF_PATIENCE_MOST ? budget->patience * 2 : HM_PERF_PATIENCE_MOST;
    budget->calm = 0;
    return budget->period != before;
}

bool hm_perf_budget_next(struct hm_perf_budget *budget, double spent_s, double allowed_s, bool was_throttled)
{
    if (spent_s > allowed_s || was_throttled)
        return make_coarser(budget, spent_s, allowed_s);
    budget->calm = spent_s < allowed_s / 4 ? budget->calm + 1 : 0;
    if (budget->calm < budget->patience || budget->period == budget->wanted)
        return false;
    budget->period /= 2;
    budget->calm = 0;
    return true;
}

bool hm_perf_budget_fit(struct hm_perf_budget *budget, double cost_s, double share, uint64_t finest)
{
    double period = fmin(fmax(cost_s / share * 1e9, (double)finest), (double)budget->most);
    if (fabs(period - (double)budget->period) < 0.1 * (double)budget->period)
        return false;
    budget->period = (uint64_t)period;
    return true;
}
